(window.storeSearch = window.storeSearch || {})["corpus/search/x.json"] = {
  "format": "store-search-shard/v1",
  "shard": "x",
  "prefix": "x",
  "hosts": [
    {
      "host": "xn--bcher-kva.street",
      "at": 0,
      "path": "/corpus/host/xn--bcher-kva.street",
      "line": "established — 4 of 4, W43–W46"
    }
  ]
};
