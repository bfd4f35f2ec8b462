package main

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// words are the short forms of the members of an event.
var words = map[string]string{
	"text":    "{type: string}",
	"text?":   `{type: [string, "null"]}`,
	"id":      "{type: string, description: An id.}",
	"id?":     `{type: [string, "null"], description: An id. null is none.}`,
	"number":  "{type: integer, format: int64}",
	"decimal": "{type: number, format: double}",
	"flag":    "{type: boolean}",
	"time":    "{type: string, format: date-time}",
	"names":   "{type: array, items: {type: string}}",
	"names?":  `{type: [array, "null"], items: {type: string}}`,
}

// subjectIDs are the ids that samples have, by the type of their subject.
var subjectIDs = map[string]string{ //nolint:gosec // none of these ids is a secret
	"api_key":          "key_01jb4rqnx7h1k4n8r2t6w9z3c6",
	"chat_template":    "ctpl_01jb4rqnx5c8f2h6k9m3p7r0t4",
	"connection":       "con_01jb4rqnx8j2m5p9s3v7x0b4d6",
	"data_source":      "src_01jb4rqnx9k3n6q0t4w8y1c5e7",
	"embed_token":      "etok_01jb4rqnxam4p7r1v5x9z2d6f8",
	"file":             "file_01jb4rqnx1e0g8w5t2m7k4y6zc",
	"folder_share":     "pfsh_01jb4rqnx1f3v9c3k3m6zt8n5e",
	"group":            "grp_01jb4rqnxbn5q8s2w6y0a3e7g9",
	"invitation":       "inv_01jb4rqnx1f8r3w6y0b2d5g7j9",
	"dispute":          "du_1Q2w3E4r5T6y7U8i",
	"invoice":          "in_1Q2w3E4r5T6y7U8i",
	"passkey":          "psk_01jb4rqnx6e0g3j7m1p4r8t2w5",
	"payment_customer": "cus_Q2w3E4r5T6y7U8",
	"payment_method":   "pm_1Q2w3E4r5T6y7U8i",
	"presence":         "prs_01jb4rqnxcp6r9t3x7z1b4f8h0",
	"prompt_template":  "ptpl_01jb4rqnx3z5b9d2f6h0k4m7p1",
	"session":          "ses_01jb4rqnxdq7s0v4y8a2c5g9j1",
	"subscription":     "sub_1Q2w3E4r5T6y7U8i",
	"usage_report":     "use_Q2w3E4r5T6y7U8",
	"user":             "usr_01jb4rqnx1e5btz2s1v2j9k3mn",
	"webhook":          "whk_01jb4rqnx1f4d6h8k0m2p4r6t8",
	"workspace":        "wsp_01jb4rqnx1fnrsd6zzyk1p1m0q",
}

// expandEvents replaces the entries of the catalogue of events (spec/events.yaml) by webhooks of OpenAPI.
func expandEvents(document *yaml.Node) error {
	list := member(document, "webhooks")
	if list == nil {
		return nil
	}
	for i := 0; i < len(list.Content); i += 2 {
		kind := list.Content[i].Value
		hook, err := webhook(kind, list.Content[i+1])
		if err != nil {
			return fmt.Errorf("webhooks: %s: %w", kind, err)
		}
		list.Content[i+1] = hook
	}
	return nil
}

// webhook returns an event's entry of the document's webhooks section, from its short form in events.yaml.
func webhook(kind string, of *yaml.Node) (*yaml.Node, error) {
	subject, since, summary := member(of, "subject"), member(of, "since"), member(of, "summary")
	data, sample := member(of, "data"), member(of, "sample")
	if subject == nil || since == nil || summary == nil || data == nil || sample == nil {
		return nil, fmt.Errorf("needs subject, since, summary, data and sample")
	}
	id, known := subjectIDs[subject.Value]
	if !known {
		return nil, fmt.Errorf("the subject %s is not in tools/openapi/events.go", subject.Value)
	}
	change, err := eventData(data)
	if err != nil {
		return nil, err
	}
	var hook yaml.Node
	if err := yaml.Unmarshal([]byte(webhookForm), &hook); err != nil {
		return nil, err
	}
	root := hook.Content[0]
	post := member(root, "post")
	member(post, "operationId").Value = "on" + operationName(kind)
	set(post, "summary", summary)
	member(post, "description").Value = "Sent to webhooks. `data.change` has the schema of `data` in the feed."
	set(post, "x-subject", subject)
	set(post, "x-since", text(since.Value))
	media := member(member(member(post, "requestBody"), "content"), "application/json")
	own := member(member(media, "schema"), "allOf").Content[1]
	set(member(member(own, "properties"), "type"), "const", text(kind))
	set(member(member(member(own, "properties"), "data"), "properties"), "change", change)
	value := member(member(member(media, "examples"), "event"), "value")
	set(value, "type", text(kind))
	shown := member(value, "data")
	set(member(shown, "subject"), "id", text(id))
	set(member(shown, "subject"), "type", text(subject.Value))
	set(shown, "change", sample)
	return root, nil
}

// webhookForm is what all webhooks have.
const webhookForm = `
post:
  operationId: on
  x-sdk: none
  tags: [events]
  summary: ""
  description: ""
  security: []
  requestBody:
    required: true
    content:
      application/json:
        schema:
          allOf:
            - {$ref: '#/components/schemas/WebhookPayload'}
            - type: object
              properties:
                type: {type: string}
                data: {type: object, properties: {}}
        examples:
          event:
            value:
              type: ""
              timestamp: "2026-03-02T09:30:00.000Z"
              data:
                id: evt_01jb4rqnx1e6mtn7c0b8z2pq4r
                seq: 42
                workspace_id: wsp_01jb4rqnx1fnrsd6zzyk1p1m0q
                subject: {id: "", type: "", revision: 3}
                actor: usr_01jb4rqnx1e5btz2s1v2j9k3mn
                change: {}
  responses:
    '204': {description: The receiver has stored the event. Every status from 200 to 299 counts.}
`

// operationName returns PromptTemplateActivated for prompt_template.activated.
func operationName(kind string) string {
	var out strings.Builder
	for part := range strings.FieldsFuncSeq(kind, func(r rune) bool { return r == '.' || r == '_' }) {
		out.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return out.String()
}

// eventData returns the schema of an event's data.
func eventData(short *yaml.Node) (*yaml.Node, error) {
	required := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	properties := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i < len(short.Content); i += 2 {
		name, value := short.Content[i].Value, short.Content[i+1]
		name, optional := strings.CutSuffix(name, "?")
		if !optional {
			required.Content = append(required.Content, text(name))
		}
		if value.Kind == yaml.ScalarNode {
			if form, known := words[value.Value]; known {
				var schema yaml.Node
				if err := yaml.Unmarshal([]byte(form), &schema); err != nil {
					return nil, err
				}
				value = schema.Content[0]
			} else {
				value = reference("schemas", value.Value)
			}
		}
		set(properties, name, value)
	}
	schema := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	set(schema, "type", text("object"))
	if len(required.Content) > 0 {
		set(schema, "required", required)
	}
	set(schema, "properties", properties)
	return schema, nil
}
