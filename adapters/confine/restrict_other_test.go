//go:build !linux

package confine_test

import "github.com/atrium-hq/atrium/adapters/confine"

// Elsewhere there are no children to attack.
const serverMode = "a-server"

func hostileJobs() map[string]confine.Job { return nil }

func server([]string) {}
