// Package quota bounds what a workspace may store.
package quota

import (
	"fmt"

	"github.com/atrium-hq/atrium/domain/fault"
)

// Kind is one thing that is bounded. Plans name it in their limits.
type Kind string

// The kinds.
const (
	PromptTemplates Kind = "prompt_templates" // without deleted ones
	PromptVersions  Kind = "prompt_versions"  // with those of deleted templates, until these are purged
	ChatTemplates   Kind = "chat_templates"   // without deleted ones

	// StorageBytes counts the texts of templates, versions and chat templates in UTF-8, and 1,024 bytes for each;
	// with deleted ones, until they are purged.
	StorageBytes Kind = "storage_bytes"
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{PromptTemplates, PromptVersions, ChatTemplates, StorageBytes} }

// Amounts is a number for each kind: the limits of a workspace, or what it uses.
type Amounts struct {
	PromptTemplates int64
	PromptVersions  int64
	ChatTemplates   int64
	StorageBytes    int64
}

// Default returns the limits that an org has unless it is configured otherwise.
func Default() Amounts {
	return Amounts{PromptTemplates: 10_000, PromptVersions: 100_000, ChatTemplates: 5_000, StorageBytes: 2 << 30}
}

// ErrExceeded says that a quota is used up; Check names it.
var ErrExceeded = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded", Detail: "A quota of the workspace is used up."}

// at returns the amount of a kind; nil for none that is known.
func (a *Amounts) at(k Kind) *int64 {
	switch k {
	case PromptTemplates:
		return &a.PromptTemplates
	case PromptVersions:
		return &a.PromptVersions
	case ChatTemplates:
		return &a.ChatTemplates
	case StorageBytes:
		return &a.StorageBytes
	}
	return nil
}

// Check returns ErrExceeded if used, which counts what is about to be added, is beyond a in one of kinds.
func (a Amounts) Check(used Amounts, kinds ...Kind) error {
	for _, k := range kinds {
		if limit := *a.at(k); *used.at(k) > limit {
			return ErrExceeded.Because(fmt.Sprintf("The quota %s of this workspace is %d. Delete what you no longer need, or ask for a plan with more.", k, limit))
		}
	}
	return nil
}

// With returns a with the limits of a plan in the place of its own, where the plan has one.
func (a Amounts) With(plan map[string]int64) Amounts {
	for _, k := range Kinds() {
		if limit, ok := plan[string(k)]; ok {
			*a.at(k) = limit
		}
	}
	return a
}

// Or returns a with the amounts of b in the place of zeros.
func (a Amounts) Or(b Amounts) Amounts {
	for _, k := range Kinds() {
		if *a.at(k) == 0 {
			*a.at(k) = *b.at(k)
		}
	}
	return a
}
