// Runs the store's verifier in this browser: the page hands files to a worker and shows what it answers. Nothing that
// is chosen leaves the machine.
(() => {
  const form = document.getElementById("verifier");
  if (!form || !window.Worker || !window.WebAssembly) return;
  const said = document.getElementById("said"), found = document.getElementById("found"), drop = document.getElementById("drop");
  form.hidden = false;
  document.getElementById("unscripted").hidden = true;

  let worker, busy = false;
  const make = (tag, text, attributes) => {
    const e = document.createElement(tag);
    e.textContent = text;
    for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
    return e;
  };
  const show = (word, mark, text, report, head) => {
    const p = make("p", "", { class: "mark" });
    p.append(make("span", word, { class: "stamp " + mark, id: "verdict" }));
    found.replaceChildren(p, make("h2", "What was found", { id: "outcome", tabindex: "-1" }), make("pre", text, { class: "signed", tabindex: "0" }));
    if (report && report !== "null") {
      const all = make("details", "");
      all.append(make("summary", "The same as JSON"), make("pre", report, { tabindex: "0" }));
      found.append(all);
    }
    if (head) {
      const keep = make("p", "");
      const link = make("a", "Keep this checkpoint", { download: "checkpoint", href: URL.createObjectURL(new Blob([head], { type: "text/plain" })) });
      keep.append(link, " and hand it in the next time: a history that does not go on from it is then refused.");
      found.append(keep);
    }
    document.getElementById("outcome").focus();
  };
  const text = async (id) => {
    const file = document.getElementById(id).files[0];
    return file ? file.text() : "";
  };

  // files are {name, blob} or {name, url}.
  const check = async (files) => {
    if (busy || !files.length) return;
    busy = true;
    found.replaceChildren();
    said.textContent = "Starting the verifier.";
    const began = Date.now();
    const done = () => { busy = false; worker.terminate(); };
    worker = new Worker("/verify/worker.js");
    worker.onerror = (e) => {
      done();
      said.textContent = "The verifier did not start: " + (e.message || "its file could not be read") + ". Nothing was checked.";
    };
    worker.onmessage = ({ data }) => {
      if (data.progress) {
        said.textContent = data.progress;
        return;
      }
      done();
      if (data.error) {
        said.textContent = "It could not be read: " + data.error + ". Nothing was checked.";
        return;
      }
      said.textContent = "Checked in this browser in " + ((Date.now() - began) / 1000).toFixed(1) + " s. No file left this machine.";
      const [word, mark] = data.sound ? ["verified", "good"] : data.unproven ? ["unproven", "unknown"] : ["not verified", "bad"];
      show(word, mark, data.text, data.report, data.head);
    };
    worker.postMessage({ files, options: { keys: await text("ring"), checkpoint: await text("checkpoint"), asOf: form.elements.as_of.value.trim() } });
  };

  // Of a git folder only its being there counts, so that a clone of many objects is not read for nothing.
  const wanted = (name) => !/(^|\/)\.git\//.test(name) || /(^|\/)\.git\/HEAD$/.test(name);
  document.getElementById("file").addEventListener("change", (e) => check([...e.target.files].map((f) => ({ name: f.name, blob: f }))));
  document.getElementById("folder").addEventListener("change", (e) =>
    check([...e.target.files].map((f) => ({ name: f.webkitRelativePath || f.name, blob: f })).filter((f) => wanted(f.name))));
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    const pasted = form.elements.pasted.value;
    if (pasted) check([{ name: "what was pasted", blob: new Blob([pasted.endsWith("\n") ? pasted : pasted + "\n"]) }]);
  });

  // A dropped folder is read to its end.
  const walk = async (entry, at) => {
    const name = at + entry.name;
    if (entry.isFile) {
      if (!wanted(name)) return [];
      return [{ name, blob: await new Promise((ok, no) => entry.file(ok, no)) }];
    }
    const reader = entry.createReader(), out = [];
    for (;;) {
      const some = await new Promise((ok, no) => reader.readEntries(ok, no));
      if (!some.length) return out;
      for (const e of some) out.push(...await walk(e, name + "/"));
    }
  };
  for (const kind of ["dragover", "dragenter"]) drop.addEventListener(kind, (e) => { e.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", async (e) => {
    e.preventDefault();
    drop.classList.remove("over");
    const entries = [...e.dataTransfer.items].map((i) => i.webkitGetAsEntry && i.webkitGetAsEntry()).filter(Boolean);
    said.textContent = "Reading what was dropped.";
    const files = [];
    for (const entry of entries) files.push(...await walk(entry, ""));
    check(files);
  });

  // ?check=/corpus/… checks a file of this site.
  const asked = new URLSearchParams(location.search).get("check");
  if (asked && /^\/[^/\\]/.test(asked)) check([{ name: asked.slice(asked.lastIndexOf("/") + 1), url: asked }]);
})();
