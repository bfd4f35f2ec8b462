package db

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"github.com/atrium-hq/atrium/domain/account"
)

// Granted is account.Granted as a column: a JSON object, or an empty string.
type Granted account.Granted

// Value implements driver.Valuer.
func (g Granted) Value() (driver.Value, error) { return jsonColumn(len(g), g) }

// Scan implements sql.Scanner.
func (g *Granted) Scan(column any) error { return scanJSON(column, (*account.Granted)(g)) }

// Granters are URLs of issuers as a column: a JSON array, or an empty string.
type Granters []string

// Value implements driver.Valuer.
func (g Granters) Value() (driver.Value, error) { return jsonColumn(len(g), []string(g)) }

// Scan implements sql.Scanner.
func (g *Granters) Scan(column any) error { return scanJSON(column, (*[]string)(g)) }

func jsonColumn(size int, v any) (driver.Value, error) {
	if size == 0 {
		return "", nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// scanJSON reads a column that one driver returns as string and the other as bytes. An empty column leaves target as it
// is.
func scanJSON(column, target any) error {
	var text []byte
	switch c := column.(type) {
	case string:
		text = []byte(c)
	case []byte:
		text = c
	default:
		return fmt.Errorf("database: %T where JSON is expected", column)
	}
	if len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, target)
}
