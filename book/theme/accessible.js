// What axe-core (tests/dev/axe.py) finds wrong with mdBook's pages, put right.
{
    document.getElementById('mdbook-menu-bar').setAttribute('role', 'banner');

    // mdBook's switch of the sidebar is a label: no key reaches it, and a label may not say that it is expanded.
    const label = document.getElementById('mdbook-sidebar-toggle');
    const button = document.createElement('button');
    for (const name of ['class', 'title', 'aria-label', 'aria-controls'])
        button.setAttribute(name, label.getAttribute(name));
    button.append(...label.childNodes);
    button.addEventListener('click', () => label.click());
    label.before(button);
    label.classList.add('hidden');
    const tell = () => button.setAttribute('aria-expanded', label.getAttribute('aria-expanded'));
    new MutationObserver(tell).observe(label, { attributeFilter: ['aria-expanded'] });
    tell();

    // What scrolls sideways can be reached by Tab, and its arrow keys scroll it instead of turning the page.
    const scrolls = box => box.scrollWidth > box.clientWidth;
    const reach = new ResizeObserver(sized => sized.forEach(({ target }) => {
        if (scrolls(target)) target.tabIndex = 0;
        else target.removeAttribute('tabindex');
    }));
    for (const box of document.querySelectorAll('main :is(pre > code, .table-wrapper, .formula)')) {
        reach.observe(box);
        box.addEventListener('keydown', press => {
            if (press.key.startsWith('Arrow') && scrolls(box)) press.stopPropagation();
        });
    }
}
