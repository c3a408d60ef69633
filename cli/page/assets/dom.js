/** Make an element. Properties have their names in HTML, or begin with `on`; children are text or elements. */
export function make(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
        if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
        else if (value === true) made.setAttribute(name, '');
        else if (value !== false && value != null) made.setAttribute(name, value);
    }
    made.append(...children.filter(child => child != null)); // text is never read as HTML
    return made;
}
