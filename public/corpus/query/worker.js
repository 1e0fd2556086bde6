/*
What this runs, /corpus/query/sqlite-*.wasm, is SQLite, which is in the public domain, as built by
github.com/ncruces/go-sqlite3:

MIT License

Copyright (c) 2023 Nuno Cruces

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
*/
// Answers questions in SQL about a database that stands on a web server as a plain file. SQLite runs here as a program
// in WebAssembly, and reads the file through the functions below: each read is a request for a range of bytes, made
// while SQLite waits. What the file and the server say is a stranger's word: everything is bounded, and nothing is
// written.
const block = 1 << 15; // what one look at the file fetches at least
const ahead = 32; // blocks that are fetched together at most, where a table is read from end to end
const kept = 1024; // blocks that are held, which is 32 MiB
const whole = 64e6; // a file that is taken as a whole may have this many bytes
const heap = 128e6; // what SQLite may take
const most = { rows: 500, columns: 100, cell: 2000, text: 1 << 20, question: 100000 };

const OK = 0, NOMEM = 7, READONLY = 8, NOTFOUND = 12, CANTOPEN = 14, ROW = 100, DONE = 101;
const IOERR_READ = 266, SHORT_READ = 522;
const IMMUTABLE = 0x2000, MAIN_DB = 0x100, OPEN_READONLY = 1, EXRESCODE = 0x2000000;

// A Trouble is an error that has words for people. After one the page starts this worker anew, unless the question was
// at fault.
class Trouble extends Error {}
const wrong = (why) => Object.assign(new Trouble(why), { asked: true });
const again = "Run it again: it then starts from the file as it is now.";
const instead = "fetch the file and ask it on the command line, as is shown below.";

const mega = (n) => n / 1e6 + " MB";

// Remote is the file on the server.
class Remote {
  constructor(url) {
    Object.assign(this, { url, size: 0, requests: 0, bytes: 0, blocks: new Map(), runs: [], all: null, trouble: null });
  }

  // ask makes a request that may be broken off, for a range or for all of the file.
  async ask(range) {
    this.requests++;
    const off = new AbortController(), headers = range ? { Range: range } : {};
    try {
      return [await fetch(this.url, { headers, cache: "no-store", signal: off.signal }), off];
    } catch {
      throw new Trouble(this.url + " could not be fetched: there is no connection to the server, or its answer " +
        "cannot be read, as when it compresses a part of a file. Run it again, or " + instead);
    }
  }

  // body is what an answer holds, which may not be more than limit bytes.
  async body(answer, off, limit, why) {
    const parts = [], reader = answer.body.getReader();
    let length = 0;
    for (;;) {
      let part;
      try {
        part = await reader.read();
      } catch {
        throw new Trouble("The connection broke off while " + this.url + " was fetched. Run it again.");
      }
      if (part.done) break;
      length += part.value.length;
      if (length > limit) {
        off.abort();
        throw new Trouble(why);
      }
      parts.push(part.value);
    }
    const all = new Uint8Array(length);
    parts.reduce((at, part) => { all.set(part, at); return at + part.length; }, 0);
    return all;
  }

  // open asks for the first block, which tells whether the server gives ranges, how long the file is and which one it
  // is. Parts of a file whose versions cannot be told apart could be parts of two.
  async open() {
    let [answer, off] = await this.ask("bytes=0-" + (block - 1));
    this.etag = answer.headers.get("ETag");
    this.modified = answer.headers.get("Last-Modified");
    this.why = "this server gives no parts of files";
    const known = this.etag || this.modified;
    if (answer.status === 206 && !known) {
      off.abort();
      this.why = "this server gives neither ETag nor Last-Modified, by which the versions of a file are told apart";
      [answer, off] = await this.ask("");
    }
    if (answer.status === 206 && known) await this.begin(answer, off);
    else if (answer.status === 200) await this.take(answer, off);
    else {
      off.abort();
      throw new Trouble(answer.status === 404 ?
        this.url + " is not here. The database may be in the making, or was not copied with the site." :
        this.url + " answers " + answer.status + ". Nothing was read. Run it again in a while.");
    }
    // SQLite takes an empty file for an empty database.
    if (!this.size) throw new Trouble("The file is damaged or was cut off: nothing is left of it. " + again);
  }

  // begin reads the first block.
  async begin(answer, off) {
    const said = answer.headers.get("Content-Range") || "", range = /^bytes 0-(\d{1,15})\/(\d{1,15})$/.exec(said);
    let why = "";
    if (!range) why = "The server does not say which part of " + this.url + " it sent.";
    this.size = range ? Number(range[2]) : 0;
    if (this.size > 1e12) why = "The server says that " + this.url + " has " + range[2] + " bytes, which it has not.";
    const want = Math.min(block, this.size);
    if (!why && Number(range[1]) !== want - 1) why = "The server sent another part of " + this.url + ".";
    if (why) {
      off.abort();
      throw new Trouble(why + " Nothing was read: " + instead);
    }
    const first = await this.body(answer, off, want,
      "The server sent more of " + this.url + " than was asked for. Nothing was read: " + instead);
    if (first.length !== want) {
      throw new Trouble("The server sent less of " + this.url + " than it said. Nothing was read. Run it again.");
    }
    this.bytes += want;
    this.blocks.set(0, first);
  }

  // take reads all of the file.
  async take(answer, off) {
    const why = this.url + " has to be taken as a whole, because " + this.why + ", and it is larger than the " +
      mega(whole) + " that this page takes. Serve the files with a server that answers Range requests, or " + instead;
    if (Number(answer.headers.get("Content-Length")) > whole) {
      off.abort();
      throw new Trouble(why);
    }
    this.all = await this.body(answer, off, whole, why);
    this.size = this.all.length;
    this.bytes += this.size;
  }

  // fetch asks for a range while SQLite waits. Only the file that was opened may answer.
  fetch(from, to) {
    const r = new XMLHttpRequest();
    r.open("GET", this.url, false);
    r.responseType = "arraybuffer";
    r.timeout = 60000;
    r.setRequestHeader("Range", "bytes=" + from + "-" + (to - 1));
    // A server that knows conditions refuses at once, and does not send a changed file whole.
    if (this.etag && !this.etag.startsWith("W/")) r.setRequestHeader("If-Match", this.etag);
    else if (this.modified) r.setRequestHeader("If-Unmodified-Since", this.modified);
    this.requests++;
    try {
      r.send();
    } catch {
      throw new Trouble("The connection broke off, or a part of the file took longer than a minute, so that there is " +
        "no answer. Run it again.");
    }
    // Two mirrors of one file may differ in its time, which counts where it has no tag.
    const field = this.etag ? "ETag" : "Last-Modified";
    const other = r.getResponseHeader(field) !== (this.etag || this.modified);
    if (r.status === 412 || r.status === 416 || other && (r.status === 200 || r.status === 206)) {
      throw new Trouble("The file changed on the server while it was read, as it does when a week is added, so that " +
        "there is no answer. " + again);
    }
    if (r.status !== 206) {
      throw new Trouble("The server answered " + r.status + " to a request for a part of the file, so that there is " +
        "no answer. Run it again.");
    }
    const range = "bytes " + from + "-" + (to - 1) + "/" + this.size;
    if (r.getResponseHeader("Content-Range") !== range || r.response.byteLength !== to - from) {
      throw new Trouble("The server sent another part of the file than was asked for, so that there is no answer. " +
        again);
    }
    this.bytes += to - from;
    return new Uint8Array(r.response);
  }

  // at is a block of the file. A block behind the last that was fetched is taken for reading on: twice as many are
  // fetched.
  at(n) {
    let found = this.blocks.get(n);
    if (found) {
      this.blocks.delete(n);
      this.blocks.set(n, found); // the last that was used goes last
      return found;
    }
    const i = this.runs.findIndex((run) => run.next === n), run = i < 0 ? { many: 0.5 } : this.runs.splice(i, 1)[0];
    run.many = Math.min(ahead, run.many * 2);
    let end = n + 1;
    while (end < n + run.many && end * block < this.size && !this.blocks.has(end)) end++;
    const bytes = this.fetch(n * block, Math.min(end * block, this.size));
    for (let b = n; b < end; b++) this.blocks.set(b, bytes.slice((b - n) * block, (b - n + 1) * block));
    // What is here already, such as the page above the next ones, does not end the reading on.
    for (run.next = end; this.blocks.has(run.next);) run.next++;
    this.runs = [run, ...this.runs.slice(0, 7)];
    found = this.blocks.get(n);
    for (const old of this.blocks.keys()) {
      if (this.blocks.size <= kept) break;
      this.blocks.delete(old);
    }
    told();
    return found;
  }

  // read fills a part of SQLite's memory and says how much of it the file has.
  read(into, from) {
    const length = Math.max(0, Math.min(into.length, this.size - from));
    if (this.all) {
      into.set(this.all.subarray(from, from + length));
      return length;
    }
    for (let done = 0; done < length;) {
      const n = Math.floor((from + done) / block), start = from + done - n * block;
      const piece = this.at(n).subarray(start, start + length - done);
      into.set(piece, done);
      done += piece.length;
    }
    return length;
  }
}

let file, sqlite, db, refused, last = 0;

// told says now and then how far it is, also while SQLite runs.
const told = () => {
  if (Date.now() - last < 200) return;
  last = Date.now();
  postMessage({ fetched: [file.requests, file.bytes, file.size] });
};

const view = () => new DataView(sqlite.memory.buffer);
const bytes = (at, length) => new Uint8Array(sqlite.memory.buffer, at, length);
const text = (at) => {
  if (!at) return "";
  const from = new Uint8Array(sqlite.memory.buffer, at), end = from.indexOf(0);
  return new TextDecoder().decode(from.subarray(0, end));
};
// put copies a text into SQLite's memory.
const put = (s) => {
  const b = new TextEncoder().encode(s), at = sqlite.sqlite3_malloc64(BigInt(b.length + 1));
  if (!at) throw wrong("The question takes more memory than this page gives it. Ask a shorter one.");
  const room = bytes(at, b.length + 1);
  room.set(b);
  room[b.length] = 0;
  return at;
};
const int = (at, n) => { view().setInt32(at, n, true); return OK; };
const long = (at, n) => { view().setBigInt64(at, n, true); return OK; };

// What may be done, by the numbers of SQLite's authorizer: to select, to read, to call a function, to recurse. PRAGMA
// is taken where it describes a table.
const may = new Set([21, 20, 31, 33]), pragma = 19;
const describing = new Set(["table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo"]);
const acts = { 9: "DELETE", 18: "INSERT", 23: "UPDATE", 19: "PRAGMA", 22: "a transaction", 24: "ATTACH", 25: "DETACH",
  26: "ALTER", 27: "REINDEX", 28: "ANALYZE", 32: "SAVEPOINT" };

// The functions that SQLite calls. Those that are not here belong to what is never used, and answer with 0.
const env = {
  go_full_pathname: (vfs, name, room, into) => {
    const n = new Uint8Array(sqlite.memory.buffer, name).indexOf(0) + 1;
    if (n > room) return CANTOPEN;
    bytes(into, n).set(bytes(name, n));
    return OK;
  },
  go_access: (vfs, name, flags, into) => int(into, 0), // there is no journal
  go_delete: () => READONLY,
  go_open: (vfs, name, f, flags, into) => {
    if (!(flags & MAIN_DB)) return CANTOPEN; // what is temporary stays in memory
    if (into) int(into, OPEN_READONLY);
    return OK;
  },
  go_read: (f, into, length, from) => {
    try {
      const room = bytes(into, length), n = file.read(room, Number(from));
      if (n === length) return OK;
      room.fill(0, n);
      return SHORT_READ;
    } catch (e) {
      file.trouble = e;
      return IOERR_READ;
    }
  },
  go_write: () => READONLY,
  go_truncate: () => READONLY,
  go_file_size: (f, into) => long(into, BigInt(file.size)),
  go_check_reserved_lock: (f, into) => int(into, 0),
  go_file_control: () => NOTFOUND,
  go_sector_size: () => 4096,
  go_device_characteristics: () => IMMUTABLE,
  go_randomness: (vfs, length, into) => {
    for (let at = 0; at < length; at += 65536) crypto.getRandomValues(bytes(into + at, Math.min(65536, length - at)));
    return length;
  },
  go_current_time_64: (vfs, into) => long(into, BigInt(Date.now()) + 210866760000000n),
  go_localtime: (into, seconds) => {
    // SQLite looks at these six members alone.
    const d = new Date(Number(seconds) * 1000);
    const all = [d.getSeconds(), d.getMinutes(), d.getHours(), d.getDate(), d.getMonth(), d.getFullYear() - 1900];
    all.forEach((n, i) => int(into + 4 * i, n));
    return OK;
  },
  go_progress_handler: () => { told(); return 0; },
  go_authorizer: (arg, act, one) => {
    if (may.has(act) || act === pragma && describing.has(text(one).toLowerCase())) return OK;
    refused = refused || (/^sqlite_(temp_)?(master|schema)$/.test(text(one)) ? -1 : act);
    return 1;
  },
};

// start loads SQLite and opens the file.
const start = async ({ program, database }) => {
  let body, module;
  try {
    const answer = await fetch(program);
    if (!answer.ok) throw new Trouble(program + " answers " + answer.status + ".");
    body = await answer.arrayBuffer();
  } catch (e) {
    throw new Trouble("SQLite could not be fetched: " + e.message.replace(/\.$/, "") + ". Load the page again.");
  }
  try {
    // Compiled from bytes, because a plain file server may not know the type.
    module = await WebAssembly.compile(body);
  } catch (e) {
    throw new Trouble("SQLite does not start in this browser: " + e.message + ". Use a newer one, or " + instead);
  }
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] = imports[from] || {};
    imports[from][name] = env[name] || (() => 0);
  }
  sqlite = (await WebAssembly.instantiate(module, imports)).exports;
  sqlite.sqlite3_hard_heap_limit64(BigInt(heap));
  file = new Remote(database);
  await file.open();
  const into = sqlite.sqlite3_malloc64(8n);
  const code = sqlite.sqlite3_open_v2(put("rows.sqlite"), into, OPEN_READONLY | EXRESCODE, 0);
  db = view().getUint32(into, true);
  if (code !== OK) throw new Trouble("The file cannot be opened: " + text(sqlite.sqlite3_errmsg(db)) + ". " + again);
  // Sorting and the like stay in memory, of which there is a bound; nothing writes, whatever the file's schema says.
  const set = sqlite.sqlite3_exec(db, put("PRAGMA temp_store=memory; PRAGMA query_only=1; " +
    "PRAGMA trusted_schema=0; PRAGMA cell_size_check=1;"), 0, 0, 0);
  if (set !== OK) throw said(set);
  // By SQLite's numbers: the lengths of a value, of a question and of a row, how deep an expression nests, how many
  // SELECTs are joined, that nothing is attached, the length of a pattern, and that no trigger runs another.
  const limits = { 0: 16 << 20, 1: most.question, 2: 500, 3: 200, 4: 50, 7: 0, 8: 1000, 10: 0 };
  for (const [limit, n] of Object.entries(limits)) sqlite.sqlite3_limit(db, Number(limit), n);
  sqlite.sqlite3_set_authorizer_go(db, 1);
  sqlite.sqlite3_progress_handler_go(db, 100000);
};

// said is what is wrong, in words for people.
const said = (code) => {
  if (file.trouble) return file.trouble;
  const kind = code & 255, why = text(sqlite.sqlite3_errmsg(db));
  if (refused) {
    return wrong("Only questions are answered here, and nothing is changed: SELECT, WITH, VALUES, EXPLAIN, and " +
      "PRAGMA table_info and its like. This one asks for " + (acts[refused] || "a change of the schema") + ".");
  }
  if (kind === NOMEM) {
    return new Trouble("The answer takes more memory than the " + mega(heap) + " that this page gives it. Ask for " +
      "less, or " + instead);
  }
  if (kind === 10 || kind === 11 || kind === 26) {
    return new Trouble("The file is damaged or was cut off: SQLite says " + why + ". Load the page again; its right " +
      "digest stands in /corpus/bulk/digests.json.");
  }
  if (/\bload_extension\b/.test(why)) return wrong("No extension can be loaded here: " + why + ".");
  return wrong("SQLite says: " + why + "." + (/^no such/.test(why) ? " The dictionary, below, has the names." : ""));
};

// cell is a value as text, null for NULL, and whether it is a number.
const cell = (statement, i) => {
  const kind = sqlite.sqlite3_column_type(statement, i), blob = kind === 4;
  if (kind === 5) return [null, false];
  const at = blob ? sqlite.sqlite3_column_blob(statement, i) : sqlite.sqlite3_column_text(statement, i);
  const n = sqlite.sqlite3_column_bytes(statement, i), limit = blob ? most.cell / 2 : most.cell;
  if (!at && n) throw said(NOMEM);
  const part = bytes(at, Math.min(n, limit));
  const shown = blob ? "x'" + Array.from(part, (b) => b.toString(16).padStart(2, "0")).join("") + "'" :
    new TextDecoder("utf-8", { ignoreBOM: true }).decode(part, { stream: n > limit });
  return [n > limit ? shown + "… (" + n + " bytes)" : shown, kind < 3];
};

// answer runs the one statement of a question.
const answer = (sql) => {
  if (sql.length > most.question) throw wrong("The question is longer than " + most.question + " letters.");
  if (sql.includes("\0")) throw wrong("There is a NUL in the question, where it would end. Take it out.");
  const at = put(sql), room = sqlite.sqlite3_malloc64(16n);
  let statement = 0;
  // One statement, and behind it nothing but spaces and remarks.
  const prepare = (from) => {
    const code = sqlite.sqlite3_prepare_v3(db, from, -1, 0, room, room + 4);
    if (code !== OK) throw said(code);
    return [view().getUint32(room, true), view().getUint32(room + 4, true)];
  };
  try {
    let rest;
    for (rest = at; !statement && text(rest).trim();) [statement, rest] = prepare(rest);
    if (!statement) throw wrong("There is no question in the box.");
    while (text(rest).trim()) {
      let more;
      [more, rest] = prepare(rest);
      sqlite.sqlite3_finalize(more);
      if (more) throw wrong("These are several questions. Ask one at a time.");
    }
    if (!sqlite.sqlite3_stmt_readonly(statement)) {
      refused = -1;
      throw said(READONLY);
    }
    const all = sqlite.sqlite3_column_count(statement), columns = [], rows = [], numbers = [];
    for (let i = 0; i < Math.min(most.columns, all); i++) {
      columns.push(text(sqlite.sqlite3_column_name(statement, i)).slice(0, most.cell));
      numbers.push(true);
    }
    let length = 0, more = all > columns.length ? "columns" : "", code;
    while ((code = sqlite.sqlite3_step(statement)) === ROW) {
      if (rows.length === most.rows || length > most.text) {
        more = rows.length === most.rows ? "rows" : "text";
        break;
      }
      rows.push(columns.map((_, i) => {
        const [value, number] = cell(statement, i);
        length += value === null ? 4 : value.length;
        if (value !== null && !number) numbers[i] = false;
        return value;
      }));
    }
    if (code !== ROW && code !== DONE) throw said(code);
    return { columns, rows, numbers, more };
  } finally {
    sqlite.sqlite3_finalize(statement);
    sqlite.sqlite3_free(at);
    sqlite.sqlite3_free(room);
  }
};

// started is the one start; a worker has one database.
let started;
onmessage = async ({ data }) => {
  const counted = () => file ? [file.requests, file.bytes, file.size] : [0, 0, 0];
  try {
    const before = counted();
    await (started = started || start(data));
    refused = 0;
    const found = answer(data.sql), [requests, length, size] = counted();
    const fetched = [requests - before[0], length - before[1], size];
    postMessage({ found, fetched, whole: file.all ? file.why : "" });
  } catch (e) {
    const known = e instanceof Trouble;
    postMessage({ error: known ? e.message : "SQLite stopped: " + (e.message || e) + ". Run it again.",
      asked: known && !!e.asked });
  }
};
