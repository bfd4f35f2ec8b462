package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// event is a type of events, of the catalogue in the contract.
type event struct {
	kind      string // prompt_template.activated
	name      string // PromptTemplateActivated
	component string // of its data: PromptTemplateActivatedData
}

// readEvents reads the catalogue, and adds a component for the data of each type.
func (d *document) readEvents(text []byte) error {
	var catalogue struct {
		Webhooks map[string]struct {
			Post struct {
				Summary string      `json:"summary"`
				Body    requestBody `json:"requestBody"`
			} `json:"post"`
		} `json:"webhooks"`
	}
	if err := json.Unmarshal(text, &catalogue); err != nil {
		return err
	}
	for _, kind := range sortedKeys(catalogue.Webhooks) {
		post := catalogue.Webhooks[kind].Post
		body := post.Body.Content["application/json"].Schema
		if body == nil || len(body.AllOf) != 2 {
			return fmt.Errorf("the webhook %s has another form than tools/openapi writes", kind)
		}
		e := event{kind: kind}
		for word := range strings.FieldsFuncSeq(kind, func(r rune) bool { return r == '.' || r == '_' }) {
			if word == "api" {
				word = "API"
			}
			e.name += strings.ToUpper(word[:1]) + word[1:]
		}
		e.component = e.name + "Data"
		if d.Components.Schemas[e.component] != nil {
			return fmt.Errorf("the contract has a schema %s already", e.component)
		}
		data := body.AllOf[1].Properties.byName["data"].Properties.byName["change"]
		data.Description = "The data of " + kind + ": " + post.Summary + "."
		d.Components.Schemas[e.component] = data
		d.events = append(d.events, e)
	}
	return nil
}

// events writes the union of all events, for those who compare the type.
func (w *tsWriter) events() {
	if len(w.document.events) == 0 {
		return
	}
	w.print("/** The data of the events that this version of the client knows, by their types. */")
	w.print("export type EventData = {")
	for _, e := range w.document.events {
		w.print("  '%s': %s", e.kind, e.component)
	}
	w.print("}\n")
	w.print("/** An event of a type T that this version of the client knows. */")
	w.print("export type EventOf<T extends keyof EventData> = Omit<Event, 'type' | 'data'> & " +
		"{ type: T; data: EventData[T] }\n")
	w.print("/** One of the events that this version of the client knows. Later servers can send others. */")
	w.print("export type KnownEvent = { [T in keyof EventData]: EventOf<T> }[keyof EventData]\n")
	w.print("/** Reports whether an event is of a type, so that its data has the type's members. */")
	w.print("export function isEvent<T extends keyof EventData>(event: Event, type: T): event is Event & EventOf<T> {")
	w.print("  return event.type === type\n}\n")
}

// events writes the types of events, and a method that reads the data of one.
func (w *goWriter) events() {
	if len(w.document.events) == 0 {
		return
	}
	w.print("// The types of events that this version of the client knows.\nconst (")
	for _, e := range w.document.events {
		w.print("EventType%s = %q", goName(e.name), e.kind)
	}
	w.print(")\n")
	w.print("// Typed returns the data of e as a pointer to the type for its Type, such as\n" +
		"// *PromptTemplateActivatedData; nil for a type that this version of the client does not know.")
	w.print("func (e *Event) Typed() (any, error) {\nvar data any\nswitch e.Type {")
	for _, e := range w.document.events {
		w.print("case EventType%s:\ndata = new(%s)", goName(e.name), goName(e.component))
	}
	w.print("default:\nreturn nil, nil\n}\ntext, err := json.Marshal(e.Data)\nif err == nil {\n" +
		"err = json.Unmarshal(text, data)\n}\nreturn data, err\n}\n")
}

// events writes the union of all events.
func (w *pyWriter) events() {
	if len(w.document.events) == 0 {
		return
	}
	base := *w.Components.Schemas["Event"]
	base.Properties = &properties{byName: base.Properties.byName}
	for _, name := range w.Components.Schemas["Event"].Properties.names {
		if name != "type" && name != "data" {
			base.Properties.names = append(base.Properties.names, name)
		}
	}
	w.print("\n%s", w.class("_EventBase", "TypedDict", &base, "What all events have."))
	for _, e := range w.document.events {
		w.print("\nclass %sEvent(_EventBase):\n    \"\"\"An event of the type %s.\"\"\"\n", e.name, e.kind)
		w.print("    type: Literal[%q]\n    data: %s\n", e.kind, e.component)
	}
	w.print("\n# One of the events that this version of the client knows: cast(KnownEvent, event). Later servers can " +
		"send\n# others.\nKnownEvent = Union[")
	for _, e := range w.document.events {
		w.print("    %sEvent,", e.name)
	}
	w.print("]\n")
}
