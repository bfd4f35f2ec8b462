// Package quota limits how much a workspace can store and have.
package quota

import (
	"math"
)

// Kind is a kind of limit. Plans name it in their limits.
type Kind string

// The kinds.
const (
	PromptTemplates Kind = "prompt_templates" // without deleted ones
	PromptVersions  Kind = "prompt_versions"  // including versions of deleted templates, until they are purged
	ChatTemplates   Kind = "chat_templates"   // without deleted ones

	// StorageBytes counts the text of templates, versions and chat templates in UTF-8, plus 1,024
	// bytes for each; including deleted ones, until they are purged.
	StorageBytes Kind = "storage_bytes"

	// Members counts people, without the users that service keys act as, and the open invitations that have
	// not expired.
	Members Kind = "members"

	Connections Kind = "connections" // without revoked ones
	Sources     Kind = "sources"
	Streams     Kind = "streams" // open streams of presences
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{PromptTemplates, PromptVersions, ChatTemplates, StorageBytes, Members, Connections, Sources, Streams}
}

// Amounts holds a number for each kind: a workspace's limits, or its usage.
type Amounts struct {
	PromptTemplates int64
	PromptVersions  int64
	ChatTemplates   int64
	StorageBytes    int64
	Members         int64
	Connections     int64
	Sources         int64
	Streams         int64
}

// Unlimited is a kind's amount without a limit.
const Unlimited int64 = math.MaxInt64

// Default returns the limits that an org has unless it is configured otherwise.
func Default() Amounts {
	return Amounts{
		PromptTemplates: 10_000, PromptVersions: 100_000, ChatTemplates: 5_000, StorageBytes: 2 << 30,
		Members: Unlimited, Connections: Unlimited, Sources: Unlimited, Streams: Unlimited,
	}
}

// pointer returns a pointer to a kind's amount; nil for an unknown kind.
func (a *Amounts) pointer(k Kind) *int64 {
	switch k {
	case PromptTemplates:
		return &a.PromptTemplates
	case PromptVersions:
		return &a.PromptVersions
	case ChatTemplates:
		return &a.ChatTemplates
	case StorageBytes:
		return &a.StorageBytes
	case Members:
		return &a.Members
	case Connections:
		return &a.Connections
	case Sources:
		return &a.Sources
	case Streams:
		return &a.Streams
	}
	return nil
}

// Get returns a kind's amount; 0 for an unknown kind.
func (a Amounts) Get(k Kind) int64 {
	if n := a.pointer(k); n != nil {
		return *n
	}
	return 0
}

// WithPlan returns a with a plan's limits, for the kinds that the plan limits.
func (a Amounts) WithPlan(plan map[string]int64) Amounts {
	for _, k := range Kinds() {
		if limit, ok := plan[string(k)]; ok {
			*a.pointer(k) = limit
		}
	}
	return a
}

// Plus returns a with extras added, by the names of kinds. A kind without a limit stays so.
func (a Amounts) Plus(extras map[string]int64) Amounts {
	for _, k := range Kinds() {
		if limit := a.pointer(k); *limit != Unlimited {
			*limit += extras[string(k)]
		}
	}
	return a
}

// WithDefaults returns a with zeros replaced by the amounts of b.
func (a Amounts) WithDefaults(b Amounts) Amounts {
	for _, k := range Kinds() {
		if *a.pointer(k) == 0 {
			*a.pointer(k) = *b.pointer(k)
		}
	}
	return a
}
