// Package web is the console: its sources, and what they build to, which is committed so that a build of the server
// needs no Node.
package web

import "embed"

// Dist is the built console. Its pages and assets are below dist.
//
//go:embed all:dist
var Dist embed.FS
