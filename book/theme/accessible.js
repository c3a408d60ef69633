// What axe-core (tests/dev/helpers/axe.py) finds wrong with mdBook's pages, put right.
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

    // What scrolls sideways can be reached by Tab, and its arrow keys scroll it instead of turning the page. A table or
    // a figure that scrolls is a region with a name; book.css then says so to the eye. Tables of one benchmark have the
    // same heads, and each has its processor above it, in bold at the beginning of a line.
    const scrolls = box => box.scrollWidth > box.clientWidth;
    const titleOf = box => {
        const bold = box.previousElementSibling?.querySelector(':scope > strong:first-child')?.textContent;
        return bold && box.previousElementSibling.textContent.startsWith(bold) ? [bold] : [];
    };
    const nameOf = box => {
        const svg = box.querySelector('svg');
        if (svg) return `Figure: ${svg.querySelector('title').textContent}`;
        const heads = [...box.querySelectorAll('th')].map(head => head.textContent.trim()).filter(Boolean);
        return `Table: ${[...titleOf(box), ...heads].join(', ')}`;
    };
    const boxes = [...document.querySelectorAll('main :is(pre > code, .table-wrapper, .drawing, .formula)')];
    const mark = () => { // those in closed folds too, of which nothing is heard before they are seen
        const wide = boxes.map(scrolls); // all are measured before any is changed, so that the page is laid out once
        boxes.forEach((box, number) => {
            const named = box.matches('.table-wrapper, .drawing');
            const attributes = { tabindex: 0, ...named && { role: 'region', 'aria-label': nameOf(box) } };
            for (const [name, value] of Object.entries(attributes)) {
                if (wide[number]) box.setAttribute(name, value);
                else box.removeAttribute(name);
            }
        });
    };
    const watch = new ResizeObserver(mark);
    for (const box of boxes) {
        watch.observe(box);
        box.addEventListener('keydown', press => {
            if (press.key.startsWith('Arrow') && scrolls(box)) press.stopPropagation();
        });
    }
    document.fonts.addEventListener('loadingdone', mark); // a font widens what is in a box, but not the box
}
