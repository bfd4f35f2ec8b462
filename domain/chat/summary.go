package chat

import (
	"encoding/json"

	"github.com/atrium-hq/atrium/domain/access"
)

// Summary is what a list shows about a template: everything but what only its editors see, which can be large.
type Summary struct {
	access.Resource
	ID           ID
	Name         string
	Description  string
	AvatarURL    string
	Agents       []string // ids in the registry
	Tools        []string // ids in the registry
	Capabilities []string
	Greeting     string
	Starters     []string
	Metadata     json.RawMessage
	Status       Status
	Workflows    []Workflow // oldest first
	PromptGone   bool       // see Template
	PromptLost   bool       // see Template
	Replies      ReplyRun

	PublishedID     VersionID // empty: none was published yet
	PublishedNumber int
}

// Summary returns what a list shows of t.
func (t *Template) Summary() Summary {
	s := Summary{
		Resource: t.Resource, ID: t.ID, Name: t.Name, Description: t.Description, AvatarURL: t.AvatarURL,
		Agents: SelectedIDs(t.Agents), Tools: SelectedIDs(t.Tools), Capabilities: t.Capabilities, Greeting: t.Greeting,
		Starters: t.Starters, Metadata: t.Metadata, Status: t.Status, Workflows: t.Workflows, PromptGone: t.PromptGone,
		PromptLost: t.PromptLost, Replies: t.Replies,
	}
	if t.Published != nil {
		s.PublishedID, s.PublishedNumber = t.Published.ID, t.Published.Number
	}
	return s
}

// SelectedIDs returns the ids of selected items.
func SelectedIDs(list []Selected) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.ID
	}
	return out
}
