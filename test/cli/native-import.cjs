// Node's own import, which vitest does not see: what is built is loaded as it is.
exports.nativeImport = (url) => import(url);
