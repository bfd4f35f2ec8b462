package chat

import (
	"fmt"
	"slices"

	"github.com/atrium-hq/atrium/domain/fault"
)

// Issue is a reason why a template does not work as configured.
type Issue struct {
	// Code is item_gone, item_disabled, invalid_config, requirement_missing, workflow_gone, workflow_disabled,
	// prompt_gone or prompt_unreadable.
	Code    string
	Pointer string // JSON Pointer (RFC 6901) into the template
	Detail  string
}

// Issues returns the items of t that the registry no longer offers, and whether its prompt is gone or
// stays at its version. It is computed with every read, because the registry changes independently of templates.
func (r *Registry) Issues(t *Summary) []Issue {
	var issues []Issue
	add := func(code, pointer, detail string) {
		issues = append(issues, Issue{Code: code, Pointer: pointer, Detail: detail})
	}
	if t.PromptGone {
		add("prompt_gone", "/prompt", "The prompt template, or its version, no longer exists.")
	}
	if t.PromptLost {
		add("prompt_unreadable", "/prompt", "The owner of the chat template may no longer read the prompt template. "+
			"The chat stays at the version that it had.")
	}
	choice := map[string]bool{}
	for _, id := range slices.Concat(t.Agents, t.Tools, t.Capabilities) {
		choice[id] = true
	}
	for _, w := range t.Workflows {
		choice[w.ID] = true
	}
	inspect := func(kind, pointer, id string, items []Item) {
		switch item := find(items, id); {
		case item == nil:
			add(kind+"_gone", pointer, "The registry no longer offers it.")
		case item.Status == ItemDisabled:
			add(kind+"_disabled", pointer, "The registry has disabled it.")
		default:
			for _, requirement := range item.Requires {
				if !choice[requirement] {
					add("requirement_missing", pointer,
						"It needs another item of the registry beside it: "+requirement+".")
				}
			}
		}
	}
	for i, id := range t.Agents {
		inspect("item", fmt.Sprintf("/agents/%d", i), id, r.Agents)
	}
	for i, id := range t.Tools {
		inspect("item", fmt.Sprintf("/tools/%d", i), id, r.Tools)
	}
	for i, id := range t.Capabilities {
		inspect("item", fmt.Sprintf("/capabilities/%d", i), id, r.Capabilities)
	}
	for i, w := range t.Workflows {
		inspect("workflow", fmt.Sprintf("/workflows/%d", i), w.ID, r.Workflows)
	}
	return issues
}

// BrokenConfigs returns the configurations of t that break the schema that the registry has now. Viewers can read the
// issues but not the configurations, so the issues do not contain details.
func (r *Registry) BrokenConfigs(t *Template) []Issue {
	return append(brokenConfigs("/agents", t.Agents, r.Agents), brokenConfigs("/tools", t.Tools, r.Tools)...)
}

func brokenConfigs(pointer string, selection []Selected, items []Item) []Issue {
	var issues []Issue
	for i, s := range selection {
		var errs fault.Fields
		place := fmt.Sprintf("%s/%d/config", pointer, i)
		if item := find(items, s.ID); item != nil {
			item.checkConfig(place, s.Config, &errs)
		}
		if len(errs) > 0 {
			issues = append(issues, Issue{Code: "invalid_config", Pointer: place,
				Detail: "The registry has changed what this configuration can be."})
		}
	}
	return issues
}
