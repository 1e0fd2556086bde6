// node install.cjs DIR… installs what the lock file of each folder holds, once and outside the repository, in
// <user cache>/agentstore-npm/<sha256 of the lock>, and prints the folder of the packages. What is there already is left
// as it is and needs no network. It runs without Go, and package npmtest runs it for the tests.
const {spawnSync} = require('node:child_process');
const {createHash} = require('node:crypto');
const fs = require('node:fs');
const {homedir, platform} = require('node:os');
const {join} = require('node:path');

const cache = process.env.XDG_CACHE_HOME && platform() !== 'darwin' ? process.env.XDG_CACHE_HOME
  : join(homedir(), platform() === 'darwin' ? 'Library/Caches' : '.cache');
const files = ['package.json', 'package-lock.json'];

function npm(dir, ...args) {
  const run = spawnSync('npm', [...args, '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'],
    {cwd: dir, encoding: 'utf8'});
  return run.status === 0 ? '' : `npm ${args[0]}: ${run.error ?? run.stdout + run.stderr}`;
}

// install fills a folder. npm ci refuses a lock without the packages that others need on their machines, which a registry
// need not have; npm install takes what is locked all the same, and must leave the lock as it is.
function install(dir) {
  const lock = fs.readFileSync(join(dir, 'package-lock.json'));
  const said = npm(dir, 'ci');
  if (said === '') return;
  if (!said.includes('from lock file')) throw new Error(said);
  const other = npm(dir, 'install', '--no-save');
  if (other !== '' || !lock.equals(fs.readFileSync(join(dir, 'package-lock.json')))) throw new Error(said + other);
}

for (const dir of process.argv.slice(2)) {
  const home = join(cache, 'agentstore-npm');
  const whole = join(home, createHash('sha256').update(fs.readFileSync(join(dir, 'package-lock.json'))).digest('hex'));
  const modules = join(whole, 'node_modules');
  if (!fs.existsSync(modules)) {
    // The folder gets its name when it is whole: a run that was killed leaves nothing that looks installed.
    fs.mkdirSync(home, {recursive: true});
    const work = fs.mkdtempSync(join(home, 'installing-'));
    try {
      for (const name of files) fs.copyFileSync(join(dir, name), join(work, name));
      install(work);
      if (!fs.existsSync(join(work, 'node_modules'))) throw new Error('npm installed nothing');
      fs.rmSync(whole, {recursive: true, force: true});
      fs.renameSync(work, whole);
      console.error(`installed ${dir}`);
    } catch (error) {
      console.error(`installing the packages of ${dir}: ${error.message}`);
      process.exit(1);
    } finally {
      fs.rmSync(work, {recursive: true, force: true});
    }
  }
  console.log(modules);
}
