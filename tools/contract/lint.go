package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/speakeasy-api/openapi/linter"
	"github.com/speakeasy-api/openapi/openapi"
	rules "github.com/speakeasy-api/openapi/openapi/linter"
	"github.com/speakeasy-api/openapi/validation"
)

// lint returns all findings of the rules of a file for a document, including hints.
func lint(ctx context.Context, text []byte) ([]string, error) {
	config, err := linter.LoadConfigFromFile(ruleset)
	if err != nil {
		return nil, err
	}
	doc, invalid, err := openapi.Unmarshal(ctx, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	l, err := rules.NewLinter(config)
	if err != nil {
		return nil, err
	}
	out, err := l.Lint(ctx, linter.NewDocumentInfo(doc, document), invalid, nil)
	if err != nil {
		return nil, err
	}
	complaints := make([]string, 0, len(out.Results))
	for _, result := range out.Results {
		if at, ok := errors.AsType[*validation.Error](result); ok {
			complaints = append(complaints, fmt.Sprintf("%s:%d: %s: %s: %v", document, at.GetLineNumber(), at.Severity,
				at.Rule, at.UnderlyingError))
			continue
		}
		complaints = append(complaints, result.Error())
	}
	return complaints, nil
}
