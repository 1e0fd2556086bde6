// A journal in a folder, for Node.js. Each purchase is a file that its owner alone can read. It is
// written beside its place, brought to the disk, and given its name at once, so that no crash leaves
// half of one.
import { randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";

const file = /^[0-9a-f]{64}\.json$/;

// folderJournal keeps purchases in a folder, which it makes if there is none. Processes may share it.
export function folderJournal(folder) {
  const put = async (purchase, name) => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const place = join(folder, purchase.id + ".json"), draft = join(folder, `.${randomUUID()}`);
    try {
      const f = await open(draft, "wx", 0o600);
      try {
        await f.writeFile(JSON.stringify(purchase, null, 2) + "\n");
        await f.sync();
      } finally {
        await f.close();
      }
      await name(draft, place);
      const dir = await open(folder, "r");
      await dir.sync().finally(() => dir.close());
    } finally {
      await rm(draft, { force: true });
    }
  };
  return {
    async create(purchase) {
      try {
        await put(purchase, link); // which replaces nothing
      } catch (e) {
        if (e.code === "EEXIST") return false;
        throw e;
      }
      return true;
    },
    replace: (purchase) => put(purchase, rename),
    async all() {
      const names = await readdir(folder).catch((e) => e.code === "ENOENT" ? [] : Promise.reject(e));
      return Promise.all(names.filter((n) => file.test(n))
        .map(async (n) => JSON.parse(await readFile(join(folder, n), "utf8"))));
    },
  };
}
