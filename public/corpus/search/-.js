(window.storeSearch = window.storeSearch || {})["corpus/search/-.json"] = {
  "format": "store-search-shard/v1",
  "shard": "-",
  "prefix": "-",
  "hosts": [
    {
      "host": "xn--bcher-kva.street",
      "at": 3,
      "path": "/corpus/host/xn--bcher-kva.street",
      "line": "established — 4 of 4, W43–W46"
    }
  ]
};
