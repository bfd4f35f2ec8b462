// Command web finishes a build of the console: it compresses the files, and notes what they were built from, so that Go
// alone can tell when they are out of date.
//
//	go run ./tools/web
package main

import (
	"fmt"
	"os"
)

func main() {
	found, err := fingerprint(".")
	if err == nil {
		err = os.WriteFile(sourcesFile, []byte(found+"\n"), 0o644) //nolint:gosec // a source file like the others
	}
	if err == nil {
		err = compress(distFolder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}
