package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// EventTypes returns the catalogue of events, by type. Callers must not change it.
func (c *Contract) EventTypes() []EventType { return c.eventTypes() }

// webhook is an entry of the catalogue of events, as tools/openapi writes it.
type webhook struct {
	Post struct {
		Summary string `json:"summary"`
		Subject string `json:"x-subject"`
		Since   string `json:"x-since"`
		Body    struct {
			Content map[string]struct {
				Schema struct {
					AllOf []struct {
						Properties struct {
							Data struct {
								Properties struct {
									Change map[string]any `json:"change"`
								} `json:"properties"`
							} `json:"data"`
						} `json:"properties"`
					} `json:"allOf"`
				} `json:"schema"`
				Examples map[string]struct {
					Value struct {
						Data struct {
							Change map[string]any `json:"change"`
						} `json:"data"`
					} `json:"value"`
				} `json:"examples"`
			} `json:"content"`
		} `json:"requestBody"`
	} `json:"post"`
}

// catalogue reads the types of events. Their schemas are self-contained: references are replaced by the referenced
// schemas. It panics if the document does not have the form that tools/openapi writes.
func catalogue(text []byte) []EventType {
	var doc struct {
		Webhooks   map[string]webhook `json:"webhooks"`
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		panic(err)
	}
	all := make([]EventType, 0, len(doc.Webhooks))
	for _, kind := range slices.Sorted(maps.Keys(doc.Webhooks)) {
		post := doc.Webhooks[kind].Post
		media := post.Body.Content["application/json"]
		if len(media.Schema.AllOf) != 2 {
			panic("the webhook " + kind + " has another form than tools/openapi writes")
		}
		change := media.Schema.AllOf[1].Properties.Data.Properties.Change
		data, _ := resolved(change, doc.Components.Schemas).(map[string]any)
		all = append(all, EventType{
			Type:    kind,
			Subject: post.Subject,
			Summary: post.Summary,
			Since:   post.Since,
			Schema:  data,
			Sample:  media.Examples["event"].Value.Data.Change,
		})
	}
	return all
}

// resolved returns a schema copy in which components replace the references to them. The schemas of events do not refer
// to themselves.
func resolved(schema any, components map[string]any) any {
	switch s := schema.(type) {
	case map[string]any:
		if ref, ok := s["$ref"].(string); ok {
			return resolved(components[strings.TrimPrefix(ref, "#/components/schemas/")], components)
		}
		out := make(map[string]any, len(s))
		for key, value := range s {
			out[key] = resolved(value, components)
		}
		return out
	case []any:
		out := make([]any, len(s))
		for i, value := range s {
			out[i] = resolved(value, components)
		}
		return out
	}
	return schema
}
