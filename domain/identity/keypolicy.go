package identity

import "time"

// KeyPolicy is an org's decision about its API keys. The zero policy allows all of them.
type KeyPolicy struct {
	// MaxLifetime is how long a new key lives at most; 0 sets no limit. Keys that are older than the
	// policy keep their end.
	MaxLifetime time.Duration

	// NoPersonal forbids keys that authenticate people: none can be made, and those that exist open
	// nothing as long as the policy says so. Service keys remain.
	NoPersonal bool
}
