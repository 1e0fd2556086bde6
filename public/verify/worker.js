// Loads the verifier and runs one check in it, so that the page stays awake.
importScripts("/verify/wasm_exec.js");

const start = async () => {
  const go = new Go();
  const answer = await fetch("/verify/verify.wasm");
  if (!answer.ok) throw new Error("verify.wasm is not here");
  // Compiled from bytes, because a plain file server may not know the type.
  const { instance } = await WebAssembly.instantiate(await answer.arrayBuffer(), go.importObject);
  go.run(instance);
};

const read = async ({ name, blob, url }) => {
  if (!url) return { name, bytes: new Uint8Array(await blob.arrayBuffer()) };
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(url + " answers " + answer.status);
  return { name, bytes: new Uint8Array(await answer.arrayBuffer()) };
};

onmessage = async ({ data }) => {
  try {
    await start();
    postMessage({ progress: "Reading." });
    const files = [];
    for (const f of data.files) files.push(await read(f));
    postMessage({ progress: "Checking." });
    postMessage(await verifyStore(files, data.options, (done, all) => postMessage({ progress: "Checking: " + done + " of " + all + " rows." })));
  } catch (e) {
    postMessage({ error: e.message || String(e) });
  }
};
