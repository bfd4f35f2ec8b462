package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// commit is set by the linker. Without it the commit is the one that Go recorded in the binary, if any.
var commit = ""

type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON: version, commit, go, platform."`
}

// Help implements kong.HelpProvider.
func (versionCommand) Help() string {
	return "The first line is the version: what atrium --version prints.\n\nExample:\n  atrium version"
}

// Run implements the command.
func (v *versionCommand) Run(p *process) error {
	build, platform := cmp.Or(commit, recordedCommit(), "unknown"), runtime.GOOS+"/"+runtime.GOARCH
	return p.print(v.JSON,
		map[string]string{"version": version, "commit": build, "go": runtime.Version(), "platform": platform},
		"%s", fmt.Sprintf("%s\ncommit    %s\ngo        %s\nplatform  %s\n", version, build, runtime.Version(),
			platform))
}

// recordedCommit returns the commit that go build found in the repository.
func recordedCommit() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}
