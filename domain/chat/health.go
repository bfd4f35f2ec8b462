package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// Issue is a reason why a template does not work as configured.
type Issue struct {
	// Code is item_gone, item_disabled, invalid_config, requirement_missing, workflow_gone, workflow_disabled,
	// prompt_gone, prompt_unreadable, missing_variables or replies_failing.
	Code    string
	Pointer string // JSON Pointer (RFC 6901) into the template
	Detail  string
}

// MissingVariables is the issue if a chat cannot reply, because its prompt has no instructions without the values
// that are missing or do not fit. It names no variable, because viewers may not see the prompt.
var MissingVariables = Issue{Code: "missing_variables", Pointer: "/reply/variables",
	Detail: "Values of variables that the prompt requires are missing or do not fit, so the chat does not reply."}

// IsUnfilled reports whether a prompt has no instructions because of the values of its variables: they are missing, do
// not fit, or make it too long.
func IsUnfilled(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Kind == fault.Invalid
}

// Unfilled returns the variables without which t could not reply, in its draft or its published version, if p were its
// prompt: their values are missing or do not fit. It looks only at contents that name the prompt by one of refs.
// isUnfilled can be true without names, if the instructions are too long.
func (t *Template) Unfilled(id prompt.ID, refs []string, p prompt.Content) (names []string, isUnfilled bool) {
	contents := []Content{t.Content}
	if t.Published != nil {
		contents = append(contents, t.Published.Content)
	}
	for _, c := range contents {
		if !c.Reply.Answers() || c.Prompt.Template != id || !slices.Contains(refs, c.Prompt.Ref) {
			continue
		}
		_, err := c.Effective(p, nil)
		if !IsUnfilled(err) {
			continue
		}
		isUnfilled = true
		f, _ := errors.AsType[*fault.Error](err)
		for _, field := range f.Fields {
			name, _, _ := strings.Cut(strings.TrimPrefix(field.Pointer, "/variables/"), "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), isUnfilled
}

// Offered returns c without the items that the registry has disabled or no longer has.
func (r *Registry) Offered(c Content) Content {
	c.Agents, c.Tools = offered(c.Agents, r.Agents), offered(c.Tools, r.Tools)
	c.Workflows = slices.DeleteFunc(slices.Clone(c.Workflows), func(w Workflow) bool {
		return !isOffered(w.ID, r.Workflows)
	})
	c.Capabilities = slices.DeleteFunc(slices.Clone(c.Capabilities), func(id string) bool {
		return !isOffered(id, r.Capabilities)
	})
	return c
}

// OfferedWorkflows returns the workflows of c as the registry describes them, without those that it has disabled or no
// longer has.
func (r *Registry) OfferedWorkflows(c Content) []Item {
	var out []Item
	for _, w := range r.Offered(c).Workflows {
		out = append(out, *find(r.Workflows, w.ID))
	}
	return out
}

func offered(selection []Selected, items []Item) []Selected {
	return slices.DeleteFunc(slices.Clone(selection), func(s Selected) bool { return !isOffered(s.ID, items) })
}

func isOffered(id string, items []Item) bool {
	item := find(items, id)
	return item != nil && item.Status != ItemDisabled
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
	if !t.Replies.FailingSince.IsZero() {
		add("replies_failing", "/reply", "The latest replies to visitors failed ("+t.Replies.Code+").")
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

// brokenConfigs returns the selected items whose configuration no longer fits the registry.
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
