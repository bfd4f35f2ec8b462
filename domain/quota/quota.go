// Package quota limits how much a workspace can store.
package quota

import (
	"fmt"

	"github.com/atrium-hq/atrium/domain/fault"
)

// Kind is a kind of limit. Plans name it in their limits.
type Kind string

// The kinds.
const (
	PromptTemplates Kind = "prompt_templates" // without deleted ones
	PromptVersions  Kind = "prompt_versions"  // including those of deleted templates, until they are purged
	ChatTemplates   Kind = "chat_templates"   // without deleted ones

	// StorageBytes counts the texts of templates, versions and chat templates in UTF-8, plus 1,024
	// bytes for each; including deleted ones, until they are purged.
	StorageBytes Kind = "storage_bytes"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{PromptTemplates, PromptVersions, ChatTemplates, StorageBytes} }

// Amounts holds a number for each kind: the limits of a workspace, or its usage.
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

// ErrExceeded says that a quota is used up. Check names it.
var ErrExceeded = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded", Detail: "A quota of the workspace is used up."}

// at returns a pointer to the amount of a kind; nil for an unknown kind.
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

// Check returns ErrExceeded if used, which includes the planned addition, exceeds a in one of kinds.
func (a Amounts) Check(used Amounts, kinds ...Kind) error {
	for _, k := range kinds {
		if limit := *a.at(k); *used.at(k) > limit {
			return ErrExceeded.Because(fmt.Sprintf("The quota %s of this workspace is %d. Delete what you no longer need, or ask for a plan with more.", k, limit))
		}
	}
	return nil
}

// With returns a with the limits of a plan, for the kinds that the plan limits.
func (a Amounts) With(plan map[string]int64) Amounts {
	for _, k := range Kinds() {
		if limit, ok := plan[string(k)]; ok {
			*a.at(k) = limit
		}
	}
	return a
}

// Or returns a with zeros replaced by the amounts of b.
func (a Amounts) Or(b Amounts) Amounts {
	for _, k := range Kinds() {
		if *a.at(k) == 0 {
			*a.at(k) = *b.at(k)
		}
	}
	return a
}
