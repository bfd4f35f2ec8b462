package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Registry is what an org offers to its chats. It comes from the configuration and is immutable: a
// reload creates a new one.
type Registry struct {
	Revision     string // a hash of all other fields
	Agents       []Item
	Tools        []Item
	Capabilities []Item
	Workflows    []Item
}

// Item is an agent, tool, capability or workflow that a chat can use.
type Item struct {
	ID           string
	Name         string
	Description  string
	Version      string
	Status       ItemStatus
	ConfigSchema json.RawMessage // JSON Schema (draft 2020-12) of Selected.Config, for agents and tools; nil: any value
	Requires     []string        // ids of other items that must be selected with it
	Effects      Effects
	EmbedSafe    bool // an embedded chat's visitors can see and use it

	schema *jsonschema.Schema
}

// ItemStatus reports whether an item can be selected.
type ItemStatus string

// The statuses of items.
const (
	ItemAvailable  ItemStatus = "available"
	ItemDeprecated ItemStatus = "deprecated" // can still be selected, and will be removed
	ItemDisabled   ItemStatus = "disabled"   // cannot be selected; templates that have it are degraded
)

// Effects are what using an item can do.
type Effects string

// The effects, from none upwards.
const (
	EffectsRead     Effects = "read"
	EffectsWrite    Effects = "write"    // changes data of the workspace
	EffectsExternal Effects = "external" // reaches external systems
)

const maxItemID = 64 // bytes

var itemID = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]*$`)

// ItemError is an error in one registry item key.
type ItemError struct {
	Key    string // agents[0].config_schema
	Reason string // without the value
}

func (e *ItemError) Error() string { return e.Key + ": " + e.Reason }

// NewRegistry checks a registry and compiles its schemas. It returns all errors, each an *ItemError.
// Schemas may refer only to parts of themselves.
func NewRegistry(r Registry) (*Registry, []error) {
	var errs []error
	ids := map[string]bool{}
	for _, items := range r.kinds() {
		for _, item := range *items.list {
			ids[item.ID] = true
		}
	}
	for _, kind := range r.kinds() {
		*kind.list = slices.Clone(*kind.list)
		for i := range *kind.list {
			item := &(*kind.list)[i]
			item.complete(func(key, reason string) {
				errs = append(errs, &ItemError{Key: fmt.Sprintf("%s[%d].%s", kind.name, i, key), Reason: reason})
			}, (*kind.list)[:i], ids)
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, []error{err}
	}
	sum := sha256.Sum256(text)
	r.Revision = hex.EncodeToString(sum[:8])
	return &r, nil
}

type kindOfItem struct {
	name string
	list *[]Item
}

func (r *Registry) kinds() []kindOfItem {
	return []kindOfItem{{"agents", &r.Agents}, {"tools", &r.Tools}, {"capabilities", &r.Capabilities},
		{"workflows", &r.Workflows}}
}

// complete fills in defaults, and reports errors in an item, given the items before it.
func (i *Item) complete(report func(key, reason string), previous []Item, ids map[string]bool) {
	if i.Name == "" {
		i.Name = i.ID
	}
	if i.Status == "" {
		i.Status = ItemAvailable
	}
	if i.Effects == "" {
		i.Effects = EffectsRead
	}
	switch {
	case len(i.ID) > maxItemID || !itemID.MatchString(i.ID):
		report("id", "must have 1 to 64 of a-z, 0-9, dot, hyphen and underscore, and begin with a letter or digit")
	case find(previous, i.ID) != nil:
		report("id", "is the same as another item's")
	}
	if !slices.Contains([]ItemStatus{ItemAvailable, ItemDeprecated, ItemDisabled}, i.Status) {
		report("status", "must be available, deprecated or disabled")
	}
	if !slices.Contains([]Effects{EffectsRead, EffectsWrite, EffectsExternal}, i.Effects) {
		report("effects", "must be read, write or external")
	}
	for _, id := range i.Requires {
		if !ids[id] || id == i.ID {
			report("requires", "must name other items of the registry")
			break
		}
	}
	if i.ConfigSchema == nil {
		return
	}
	var err error
	if i.schema, err = compile(i.ConfigSchema); err != nil {
		report("config_schema", "is no JSON Schema of draft 2020-12 that stands alone, or uses a pattern that RE2 "+
			"does not know")
	}
}

// compile reads a schema. It loads nothing from files, which the compiler would do by default, nor from
// the network.
func compile(text json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nothing{})
	c.AssertFormat()
	const here = "atrium:config"
	if err := c.AddResource(here, doc); err != nil {
		return nil, err
	}
	return c.Compile(here)
}

// nothing is a jsonschema.URLLoader that refuses every URL.
type nothing struct{}

func (nothing) Load(string) (any, error) {
	return nil, errors.New("chat: schemas refer to nothing but themselves")
}

// Workflow returns the workflow with an id.
func (r *Registry) Workflow(id string) (Item, bool) {
	if item := find(r.Workflows, id); item != nil {
		return *item, true
	}
	return Item{}, false
}

// EmbedSafe returns the usable tools of ids that an embedded chat's visitors may see.
func (r *Registry) EmbedSafe(ids []string) []Item {
	var safe []Item
	for _, id := range ids {
		if item := find(r.Tools, id); item != nil && item.EmbedSafe && item.Status != ItemDisabled {
			safe = append(safe, *item)
		}
	}
	return safe
}

func find(items []Item, id string) *Item {
	if i := slices.IndexFunc(items, func(item Item) bool { return item.ID == id }); i >= 0 {
		return &items[i]
	}
	return nil
}
