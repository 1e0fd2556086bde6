(window.storeSearch = window.storeSearch || {})["corpus/search/z.json"] = {
  "format": "store-search-shard/v1",
  "shard": "z",
  "prefix": "z",
  "hosts": [
    {
      "host": "zinc.gate.street",
      "at": 0,
      "path": "/corpus/host/zinc.gate.street",
      "line": "established — 4 of 4, W43–W46"
    }
  ]
};
