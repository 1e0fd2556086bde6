(window.storeSearch = window.storeSearch || {})["corpus/search/s.json"] = {
  "format": "store-search-shard/v1",
  "shard": "s",
  "prefix": "s",
  "hosts": [
    {
      "host": "salt.dock.street",
      "at": 0,
      "path": "/corpus/host/salt.dock.street",
      "line": "broken — 0 of 4, W43–W46"
    },
    {
      "host": "sand.gate.street",
      "at": 0,
      "path": "/corpus/host/sand.gate.street",
      "line": "indeterminate — 0 of 2, W45–W46"
    }
  ]
};
