(window.storeSearch = window.storeSearch || {})["corpus/search/o.json"] = {
  "format": "store-search-shard/v1",
  "shard": "o",
  "prefix": "o",
  "hosts": [
    {
      "host": "oil.gate.street",
      "at": 0,
      "path": "/corpus/host/oil.gate.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "oven.dock.street",
      "at": 0,
      "path": "/corpus/host/oven.dock.street",
      "line": "observed — 3 of 4, W43–W46"
    }
  ]
};
