"""Step 03, what people write instead: mistakes, each with its sentence, and other right answers."""

WIDTH = 15  # of the norm that the claims are about

FORWARD = "return F.layer_norm(x, gamma=self.weight, beta=self.bias, epsilon=self.eps)"
CENTERED = "centered = x - F.mean(x, axis=-1)\n        "
VARIANCE = "variance = F.mean(centered * centered, axis=-1)\n        "
BY_HAND = CENTERED + VARIANCE + "return centered * F.rsqrt(variance + self.eps) * self.weight + self.bias"


def by_hand(old="", new=""):
    """The formula written out, with one part of it changed."""
    assert BY_HAND.count(old) == 1 or not old
    return {FORWARD: BY_HAND.replace(old, new) if old else BY_HAND}


MISTAKES = {
    "The gain is not applied: multiply by weight.": by_hand(" * self.weight", ""),
    "The shift is not applied: add bias.": by_hand(" + self.bias", ""),
    "Gain and shift have changed places.": {
        FORWARD: FORWARD.replace("gamma=self.weight, beta=self.bias", "gamma=self.bias, beta=self.weight")
    },
    "eps is not used: without it, a token that hardly varies is blown up.": by_hand("variance + self.eps", "variance"),
    "eps is always 1e-5; use the one that was given.": {FORWARD: FORWARD.replace("self.eps", "1e-5")},
    "eps is added to the standard deviation; it belongs under the root, next to the variance.": by_hand(
        "F.rsqrt(variance + self.eps)", "(1 / (F.sqrt(variance) + self.eps))"
    ),
    "The variance is divided by dim - 1; layer normalization divides by dim.": by_hand(
        "F.mean(centered * centered, axis=-1)", f"F.mean(centered * centered, axis=-1) * {WIDTH} / ({WIDTH} - 1)"
    ),
    "The mean is not subtracted: that is RMS normalization.": by_hand("x - F.mean(x, axis=-1)", "x"),
    "It divides by the variance; divide by its square root.": by_hand(
        "F.rsqrt(variance + self.eps)", "(1 / (variance + self.eps))"
    ),
    "It normalizes over the tokens; each token is normalized over its own channels, the last axis.": {
        FORWARD: "centered = x - F.mean(x, axis=-2)\n        variance = F.mean(centered * centered, axis=-2)\n"
        "        return centered * F.rsqrt(variance + self.eps) * self.weight + self.bias"
    },
    "The shift is added before the gain is applied: x * weight + bias, in this order.": by_hand(
        " * self.weight + self.bias", " * self.weight + self.bias * self.weight"
    ),
    "weight starts as zeros: a new LayerNorm would return nothing but its bias.": {
        "self.weight = Tensor.ones([dim])": "self.weight = Tensor.zeros([dim])"
    },
    "bias starts as ones; it starts as zeros.": {"self.bias = Tensor.zeros([dim])": "self.bias = Tensor.ones([dim])"},
}

ALTERNATIVES = {
    "the formula": by_hand(),
    "divided by the root": by_hand(" * F.rsqrt(variance + self.eps)", " / F.sqrt(variance + self.eps)"),
    "the power of minus one half": by_hand("F.rsqrt(variance + self.eps)", "(variance + self.eps) ** -0.5"),
    "methods of the tensor": {
        FORWARD: "centered = x - x.mean(axis=-1)\n        variance = (centered * centered).mean(axis=-1)\n"
        "        return centered * F.rsqrt(variance + self.eps) * self.weight + self.bias"
    },
}
