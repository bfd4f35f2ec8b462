package configs

import (
	"encoding/json"
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/atrium-hq/atrium/domain/chat"
)

// Registry has the items that an org offers to its chat templates.
type Registry struct {
	Agents       []ConfiguredItem
	Tools        []ConfiguredItem
	Capabilities []RegistryItem
	Workflows    []RegistryItem
}

// RegistryItem is chat.Item with the names of its status and effects.
type RegistryItem struct {
	ID          string
	Name        string
	Description string
	Version     string
	Status      string   // available, deprecated or disabled; empty: available
	Requires    []string // ids of items that must be chosen with it
	Effects     string   // read, write or external; empty: read
	EmbedSafe   bool
}

// ConfiguredItem is an item that each template may configure.
type ConfiguredItem struct {
	ID           string
	Name         string
	Description  string
	Version      string
	Status       string
	ConfigSchema Document // JSON Schema, draft 2020-12
	Requires     []string
	Effects      string
	EmbedSafe    bool
}

// Document is a value of any shape, as JSON.
type Document json.RawMessage

// readDocument reads a node of any shape.
func readDocument(n *yaml.Node) (Document, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, errNoDocument
	}
	text, err := json.Marshal(v)
	if err != nil { // which may quote the value
		return nil, errNoDocument
	}
	return text, nil
}

var errNoDocument = errors.New(
	"must be what JSON can express: keys are texts, and there are no dates and no infinities")

// domain returns the registry with its schemas compiled, and all errors in it.
func (r Registry) domain() (*chat.Registry, []error) {
	convert := func(items []ConfiguredItem) []chat.Item {
		out := make([]chat.Item, len(items))
		for i, item := range items {
			out[i] = RegistryItem{item.ID, item.Name, item.Description, item.Version, item.Status, item.Requires,
				item.Effects,
				item.EmbedSafe}.domain()
			out[i].ConfigSchema = json.RawMessage(item.ConfigSchema)
		}
		return out
	}
	plain := func(items []RegistryItem) []chat.Item {
		out := make([]chat.Item, len(items))
		for i, item := range items {
			out[i] = item.domain()
		}
		return out
	}
	return chat.NewRegistry(chat.Registry{
		Agents: convert(r.Agents), Tools: convert(r.Tools), Capabilities: plain(r.Capabilities),
		Workflows: plain(r.Workflows),
	})
}

func (i RegistryItem) domain() chat.Item {
	return chat.Item{
		ID: i.ID, Name: i.Name, Description: i.Description, Version: i.Version, Status: chat.ItemStatus(i.Status),
		Requires: i.Requires, Effects: chat.Effects(i.Effects), EmbedSafe: i.EmbedSafe,
	}
}

func (r Registry) validate(found *problems, key string) {
	_, errs := r.domain()
	for _, err := range errs {
		item, ok := errors.AsType[*chat.ItemError](err)
		if !ok {
			found.add(key, "cannot be read")
			continue
		}
		found.add(key+"."+item.Key, "%s", item.Reason)
	}
}

// sampleRegistry is what the org of the embedded default offers, so that a first chat template has
// something to choose from.
func sampleRegistry() Registry {
	return Registry{
		Agents: []ConfiguredItem{
			{
				ID: "assistant", Name: "Assistant", Description: "Answers questions in a conversation.",
				Version: "1.0.0", Status: "available", Effects: "read", EmbedSafe: true,
				ConfigSchema: Document(`{"additionalProperties":false,"properties":{"max_turns":{"maximum":100,"minimum":1,"type":"integer"},"tone":{"enum":["neutral","friendly","formal"]}},"type":"object"}`),
			},
			{
				ID: "researcher", Name: "Researcher",
				Description: "Reads up before it answers, and cites what it read.", Version: "1.0.0",
				Requires: []string{"knowledge-search", "citations"},
			},
		},
		Tools: []ConfiguredItem{
			{
				ID: "knowledge-search", Name: "Knowledge search", Description: "Searches the workspace's articles.",
				Version: "1.2.0", Status: "available", Effects: "read", EmbedSafe: true,
				ConfigSchema: Document(`{"additionalProperties":false,"properties":{"collections":{"items":{"maxLength":80,"type":"string"},"maxItems":20,"type":"array"},"max_results":{"maximum":20,"minimum":1,"type":"integer"}},"type":"object"}`),
			},
			{
				ID: "create-ticket", Name: "Create ticket", Description: "Opens a ticket in the help desk.",
				Version: "1.0.0", Effects: "write",
				ConfigSchema: Document(`{"additionalProperties":false,"properties":{"queue":{"maxLength":80,"minLength":1,"type":"string"}},"required":["queue"],"type":"object"}`),
			},
			{ID: "web-search", Name: "Web search", Description: "Searches the public web.", Version: "1.0.0",
				Effects: "external"},
		},
		Capabilities: []RegistryItem{
			{ID: "citations", Name: "Citations", Description: "Answers name their sources.", Version: "1.0.0",
				Status: "available", Effects: "read", EmbedSafe: true},
			{ID: "file-upload", Name: "File upload", Description: "People may add files to a chat.", Version: "1.0.0",
				Effects: "write"},
		},
		Workflows: []RegistryItem{
			{ID: "hand-over", Name: "Hand over", Description: "Brings a colleague into the chat.", Version: "1.0.0",
				Status: "available", Effects: "write", EmbedSafe: true},
			{ID: "weekly-digest", Name: "Weekly digest", Description: "Mails the week's open questions.",
				Version: "1.0.0", Effects: "external"},
		},
	}
}
