package main

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"
)

// toJSON encodes a document as JSON in the order of the source, which is the order of the documentation. It leaves
// out the extensions x-go-…, which only the generator of the models reads.
func toJSON(root *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	if err := writeJSON(&out, root); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// writeJSON writes members in the order of the YAML file, and leaves out x-go- members, which only the generator reads.
func writeJSON(out *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.DocumentNode:
		return writeJSON(out, n.Content[0])
	case yaml.AliasNode:
		return writeJSON(out, n.Alias)
	case yaml.MappingNode:
		out.WriteByte('{')
		first := true
		for i := 0; i < len(n.Content); i += 2 {
			if strings.HasPrefix(n.Content[i].Value, "x-go-") {
				continue
			}
			if !first {
				out.WriteByte(',')
			}
			first = false
			if err := writeScalar(out, n.Content[i].Value); err != nil {
				return err
			}
			out.WriteByte(':')
			if err := writeJSON(out, n.Content[i+1]); err != nil {
				return err
			}
		}
		out.WriteByte('}')
		return nil
	case yaml.SequenceNode:
		out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := writeJSON(out, item); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	default:
		switch n.ShortTag() {
		case "!!null", "!!bool", "!!int", "!!float":
			var v any
			if err := n.Decode(&v); err != nil {
				return err
			}
			return writeScalar(out, v)
		default: // a time stays text
			return writeScalar(out, n.Value)
		}
	}
}

func writeScalar(out *bytes.Buffer, v any) error {
	b, err := json.Marshal(v)
	out.Write(b)
	return err
}
