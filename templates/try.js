// Adds to /try and is needed for nothing: the form stays on the page while the door is read, says how long it has
// taken, and puts the answer where the page was.
(() => {
  const start = () => {
    const form = document.querySelector("form.try");
    if (!form || !window.fetch || !window.DOMParser) return;
    const url = form.elements.url, button = form.querySelector("button"), said = form.querySelector("#said");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const began = Date.now();
      button.disabled = true;
      const tick = setInterval(() => {
        said.textContent = "Checking, " + Math.round((Date.now() - began) / 1000) + " s. It may take eight, or twice that where the endpoint asks to be asked again.";
      }, 250);
      try {
        const answer = await fetch(form.action, {
          method: "POST", headers: { Accept: "text/html" }, body: new URLSearchParams(new FormData(form)),
        });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const main = page.querySelector("main");
        if (!main) throw new Error("no page");
        document.title = page.title;
        document.querySelector("main").replaceWith(main);
        start();
        main.setAttribute("tabindex", "-1");
        main.focus({ preventScroll: true });
        window.scrollTo(0, 0);
      } catch {
        said.textContent = "The answer did not arrive. Nothing was billed; try again.";
      } finally {
        clearInterval(tick);
        button.disabled = false;
      }
    });
    url.addEventListener("input", () => { said.textContent = ""; });
  };
  start();
})();
