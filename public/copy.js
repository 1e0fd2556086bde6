// Adds to every page and is needed for nothing: a button copies a program, or a text that was signed, and a digest that
// is shown shortened copies the whole when it is pressed.
(() => {
  if (!navigator.clipboard || !document.adoptedStyleSheets) return; // browsers give no clipboard to pages without TLS
  const style = new CSSStyleSheet(); // the one sheet has no bytes for what is not there without a script
  style.replaceSync(`
    .digest[role] { cursor: copy; }
    .copy { position: relative; }
    .copy > button { position: absolute; top: 1px; right: 1px; border: 1px solid var(--rule); border-width: 0 0 1px 1px; padding: .1rem .5rem; font-size: .8rem; }
    .copy > pre { padding-right: 4.2rem; }
    @media (max-width: 34rem) { .copy > pre { padding: 1.9rem .8rem .6rem; } }`);
  document.adoptedStyleSheets.push(style);
  const copies = (from, text) => {
    const says = from.textContent;
    let busy = false;
    from.setAttribute("aria-live", "polite");
    const copy = async () => {
      if (busy) return;
      busy = true;
      try {
        await navigator.clipboard.writeText(text());
        from.textContent = "copied";
      } catch {
        from.textContent = "not copied";
      }
      setTimeout(() => { from.textContent = says; busy = false; }, 1500);
    };
    from.addEventListener("click", copy);
    return copy;
  };
  const add = () => {
    for (const pre of document.querySelectorAll("main pre:not(.copy > pre)")) {
      const box = document.createElement("div"), button = document.createElement("button");
      box.className = "copy";
      button.type = "button";
      button.className = "screen";
      button.textContent = "copy";
      pre.replaceWith(box);
      box.append(pre, button);
      copies(button, () => pre.textContent);
    }
    for (const digest of document.querySelectorAll("code.digest[title]:not([role])")) {
      digest.setAttribute("role", "button");
      digest.tabIndex = 0;
      // The name of the algorithm may stand before it.
      const copy = copies(digest, () => digest.title.split(" ").pop());
      digest.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        copy();
      });
    }
  };
  add();
  new MutationObserver(add).observe(document.body, { childList: true, subtree: true }); // an answer may come into the page
})();
