package prompts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// langfuseReference matches an include in a text of Langfuse, of a version or of a label.
var langfuseReference = regexp.MustCompile(`@@@langfusePrompt:name=([^|@]+)\|(version|label)=([^|@]+)@@@`)

// langfusePrompt is a prompt version, as Langfuse's API returns it.
type langfusePrompt struct {
	Name          string          `json:"name"`
	Type          string          `json:"type"`
	Version       int             `json:"version"`
	Prompt        json.RawMessage `json:"prompt"`
	Config        json.RawMessage `json:"config"`
	Labels        []string        `json:"labels"`
	Tags          []string        `json:"tags"`
	CommitMessage string          `json:"commitMessage"`
}

// langfusePrompts returns the templates in a Langfuse export, which has an item for each version. The version that is
// in production there becomes the active one if activate is set; labels stay, except latest, which is no label here.
func langfusePrompts(r *server.Call, raw []json.RawMessage, activate bool) ([]prompt.Imported, error) {
	items, order := make([]langfusePrompt, len(raw)), make([]int, len(raw))
	errs := make([]error, len(raw))
	for i := range raw {
		order[i] = i
		items[i], errs[i] = langfuseItem(raw[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(items[a].Version, items[b].Version) })
	var all []prompt.Imported
	indexes := map[string]int{}
	for _, i := range order {
		item, pointer := items[i], fmt.Sprintf("/langfuse/%d", i)
		key := prompt.NameKey(item.Name)
		k, isKnown := indexes[key]
		if !isKnown {
			k = len(all)
			indexes[key] = k
			all = append(all, prompt.Imported{Pointer: pointer, Source: cmp.Or(item.Name, pointer),
				Draft: importedDraft(r, item.Name, cmp.Or(item.Type, "text"), "", item.Tags)})
		}
		if len(all) > prompt.MaxImported {
			return nil, errArchiveTooLarge
		}
		d, err := prompt.VersionDraft{}, errs[i]
		if err == nil {
			d, err = langfuseVersion(r, item)
		}
		if err != nil {
			all[k].Err = fault.Join(all[k].Err, all[k].Refer(pointer, err))
			continue
		}
		d.Activate, d.Pointer = activate && slices.Contains(item.Labels, "production"), pointer
		all[k].Versions = append(all[k].Versions, d)
	}
	return all, nil
}

// langfuseItem reads an export's item. With an error, the item has the members that could be read.
func langfuseItem(raw json.RawMessage) (item langfusePrompt, err error) {
	if json.Unmarshal(raw, &item) != nil || item.Version < 0 || item.Version > 1<<30 {
		err = fault.InField("", "wrong_type", "Is not a version of a prompt as Langfuse exports it.")
	}
	return item, err
}

// langfuseVersion reads one version.
func langfuseVersion(r *server.Call, item langfusePrompt) (prompt.VersionDraft, error) {
	create := map[string]any{}
	if item.CommitMessage != "" {
		create["commit_message"] = item.CommitMessage
	}
	if labels := prompt.RemovedLabels(item.Labels, []string{"latest"}); len(labels) > 0 {
		create["labels"] = labels
	}
	if err := langfuseText(create, item); err != nil {
		return prompt.VersionDraft{}, err
	}
	langfuseConfig(create, item.Config)
	version, err := json.Marshal(create)
	if err != nil {
		return prompt.VersionDraft{}, err
	}
	d, err := importedVersion(r, version)
	if item.Version > 0 {
		d.Copied = &prompt.VersionInfo{Number: item.Version}
	}
	return d, err
}

// langfuseText sets the text or the messages.
func langfuseText(create map[string]any, item langfusePrompt) error {
	invalid := fault.InField("/prompt", "wrong_type", "Must be a text, or a list of messages if the type is chat.")
	if item.Type != "chat" {
		var text string
		if json.Unmarshal(item.Prompt, &text) != nil {
			return invalid
		}
		create["text"] = withIncludes(text)
		return nil
	}
	var messages []map[string]json.RawMessage
	if json.Unmarshal(item.Prompt, &messages) != nil || messages == nil {
		return invalid
	}
	for i, m := range messages {
		messages[i] = langfuseMessage(m)
	}
	create["messages"] = messages
	return nil
}

// langfuseMessage returns a message of Langfuse, or its placeholder for messages. Their texts can have includes;
// members such as tool_calls stay as they are. What is wrong with them is found as in a message of the API.
func langfuseMessage(m map[string]json.RawMessage) map[string]json.RawMessage {
	if string(m["type"]) == `"placeholder"` {
		return map[string]json.RawMessage{"placeholder": m["name"]}
	}
	delete(m, "type")
	var parts []map[string]json.RawMessage
	if json.Unmarshal(m["content"], &parts) == nil && parts != nil {
		for _, p := range parts {
			includeIn(p, "text")
		}
		m["content"], _ = json.Marshal(parts) // of JSON
		return m
	}
	includeIn(m, "content")
	return m
}

// includeIn writes the includes in a text as they are written here.
func includeIn(members map[string]json.RawMessage, name string) {
	var text string
	if bytes.HasPrefix(members[name], []byte(`"`)) && json.Unmarshal(members[name], &text) == nil {
		members[name], _ = json.Marshal(withIncludes(text)) // of a string
	}
}

// withIncludes returns a text of Langfuse with includes as they are written here.
func withIncludes(text string) string {
	return langfuseReference.ReplaceAllStringFunc(text, func(tag string) string {
		parts := langfuseReference.FindStringSubmatch(tag)
		ref := parts[3]
		if parts[2] == "version" {
			ref = "v" + ref
		}
		return "{{> " + strings.TrimSpace(parts[1]) + "@" + strings.TrimSpace(ref) + "}}"
	})
}

// langfuseConfig sets what a configuration has: tools, a response format, and a model configuration with the members
// that Atrium has, and the others in extra_params.
func langfuseConfig(create map[string]any, config json.RawMessage) {
	var all map[string]json.RawMessage
	if json.Unmarshal(config, &all) != nil {
		return
	}
	var tools []map[string]json.RawMessage
	var format map[string]json.RawMessage
	for name, members := range map[string]any{"tools": &tools, "response_format": &format} {
		if json.Unmarshal(all[name], members) == nil && string(all[name]) != "null" {
			create[name] = all[name]
			delete(all, name)
		}
	}
	if model := langfuseModel(all); len(model) > 0 {
		create["model_config"] = model
	}
}

func langfuseModel(all map[string]json.RawMessage) map[string]json.RawMessage {
	model := map[string]json.RawMessage{}
	for theirs, ours := range map[string]string{"provider": "provider", "model": "model_name",
		"temperature": "temperature", "max_tokens": "max_tokens", "top_p": "top_p", "top_k": "top_k",
		"stop": "stop_sequences"} {
		value, ok := all[theirs]
		if ours == "stop_sequences" && !strings.HasPrefix(string(value), "[") {
			continue
		}
		if ok && string(value) != "null" {
			model[ours] = value
			delete(all, theirs)
		}
	}
	if len(all) > 0 {
		extra, err := json.Marshal(maps.Clone(all))
		if err == nil {
			model["extra_params"] = extra
		}
	}
	return model
}
