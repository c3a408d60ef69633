"""The paths that are served, which ``front`` answers. MAX's server has others, and some of them change its state."""

ONE_MODEL = "/v1/models/{model:path}"
#: A path -> its method.
PATHS = {
    **dict.fromkeys(("/v1/completions", "/v1/chat/completions"), "POST"),
    **dict.fromkeys(("/v1/models", ONE_MODEL, "/version"), "GET"),
}
PROBES = ("/health", "/ready", "/metrics")  # they need no key, and would fill the log
