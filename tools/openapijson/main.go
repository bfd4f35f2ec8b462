// Command openapijson writes openapi.yaml as JSON, which the binary serves, and reads at each start in
// two thirds of the time that the YAML would take.
//
//	go run ./tools/openapijson openapi.yaml openapi.gen.json
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: openapijson FROM.yaml TO.json")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "openapijson:", err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	source, err := os.ReadFile(from) //nolint:gosec // whoever generates names the file
	if err != nil {
		return err
	}
	text, err := toJSON(source)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(to, append(text, '\n'), 0o644) //nolint:gosec // a source file like the others
}

// toJSON turns YAML into JSON, in the order of the source, which is the order of the documentation.
// It leaves out what only the generator reads.
func toJSON(source []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(source, &root); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := writeJSON(&out, &root); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

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
		default: // a time stays the text that it is
			return writeScalar(out, n.Value)
		}
	}
}

func writeScalar(out *bytes.Buffer, v any) error {
	b, err := json.Marshal(v)
	out.Write(b)
	return err
}
