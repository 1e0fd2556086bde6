// Package generator turns content, the signed record and the description of
// the API into the published tree: files that any web server, content network
// or git clone can serve, covered by one signed manifest.
//
// What is published is decided in the table of package pages; a new file is a row of
// it. A build is a function of its [Input]: it reads no clock, sorts
// everything, and writes only bytes that change. With a build cache it
// renders only what depends on something that changed, and is tested to end
// with the same tree as a full build.
//
//	report, err := generator.Build(ctx, generator.Input{Site: site, API: routes, Ring: ring, Key: key, OutDir: "public"})
//
// Build writes in place, for a tree that is committed. [BuildTree] makes a new
// tree beside the current one and moves a pointer, for a tree that is served.
// Package publish brings it into git or a bucket. The package never imports
// the server, and the server never imports it.
package generator
