(window.storeSearch = window.storeSearch || {})["corpus/search/r.json"] = {
  "format": "store-search-shard/v1",
  "shard": "r",
  "prefix": "r",
  "hosts": [
    {
      "host": "radio.dock.street",
      "at": 0,
      "path": "/corpus/host/radio.dock.street",
      "line": "broken — 0 of 4, W43–W46"
    },
    {
      "host": "readme.md.street",
      "at": 0,
      "path": "/corpus/host/readme.md.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "rope.gate.street",
      "at": 0,
      "path": "/corpus/host/rope.gate.street",
      "line": "established — 4 of 4, W43–W46"
    }
  ]
};
