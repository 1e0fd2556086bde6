import type { Journal } from "./buy.js";

/** A journal in a folder, for Node.js, whose files their owner alone can read. Processes may share it. */
export function folderJournal(folder: string): Journal;
