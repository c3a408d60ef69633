// A line at the upper edge of a long page: how far one has read. It is for the eye alone.
{
    const LONG = 3; // windows high

    const line = document.createElement('div');
    line.className = 'reading';
    line.setAttribute('aria-hidden', 'true');
    document.body.append(line);

    const page = document.documentElement;
    const show = () => {
        const rest = page.scrollHeight - innerHeight;
        line.hidden = page.scrollHeight < LONG * innerHeight;
        line.style.setProperty('--read', rest > 0 ? Math.min(1, scrollY / rest) : 0);
    };
    addEventListener('scroll', show, { passive: true });
    new ResizeObserver(show).observe(document.body);
    show();
}
