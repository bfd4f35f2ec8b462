package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
)

const (
	sourcesPath = "/api/datasources"
	mapping     = `[{"field":"email","column":"E-mail"}]`
)

// attach makes sources, and returns their paths: of files of the data directory where Atrium is embedded,
// else of tables in the database itself, through a connection to it.
func (w *workspace) attach(ctx context.Context, d database, data string) (paths []string, err error) {
	var made struct {
		ID string `json:"id"`
	}
	if d.driver == "postgres" {
		credential, err := credentialOf(d)
		if err != nil {
			return nil, err
		}
		if err := w.post(ctx, "/api/connections", w.owner.Token, `{"kind":"postgres","credential":`+credential+`}`,
			&made); err != nil {
			return nil, err
		}
	}
	connection := made.ID
	for i := range manySources {
		location, err := w.table(ctx, d, data, connection, fmt.Sprintf("people_%d", i))
		if err != nil {
			return nil, err
		}
		if err := w.post(ctx, sourcesPath, w.owner.Token, fmt.Sprintf(`{"type":"contacts","location":%s,"mapping":%s}`,
			location, mapping), &made); err != nil {
			return nil, err
		}
		paths = append(paths, sourcesPath+"/"+made.ID)
	}
	return paths, nil
}

// table makes one of a hundred people, and returns where a source finds it.
func (w *workspace) table(ctx context.Context, d database, data, connection, name string) (location string, err error) {
	if d.driver != "postgres" {
		return fmt.Sprintf(`{"url":"file:%s.csv"}`, name), writeSheet(filepath.Join(data, "sheets", name+".csv"))
	}
	db, err := d.open("")
	if err != nil {
		return "", err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE `+name+` ("E-mail", "First name", "Last name") AS
		SELECT 'person-' || n || '@example.com', 'Ada', 'Lovelace' FROM generate_series(1, 100) n`)
	return fmt.Sprintf(`{"connection_id":%q,"schema":"public","table":%q}`, connection, name),
		errors.Join(err, db.Close())
}

// credentialOf is what a connection to d takes.
func credentialOf(d database) (string, error) {
	u, err := url.Parse(d.url)
	if err != nil {
		return "", errors.New("the URL of PostgreSQL is none") // without err, which would quote the password
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = 5432
	}
	password, given := u.User.Password()
	if !given {
		password = "none" // is asked for
	}
	credential, err := json.Marshal(map[string]any{
		"host": u.Hostname(), "port": port, "database": u.Path[1:], "username": u.User.Username(), "password": password,
		"tls": "disable",
	})
	return string(credential), err
}

// writeSheet writes a small file of the data directory's sheets.
func writeSheet(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	sheet := csv.NewWriter(f)
	_ = sheet.Write([]string{"E-mail", "First name", "Last name"}) // Flush tells
	for i := range 100 {
		_ = sheet.Write([]string{fmt.Sprintf("person-%d@example.com", i), "Ada", "Lovelace"})
	}
	sheet.Flush()
	return sheet.Error()
}

// mappings replaces the mapping of each source. A child process reads the header each time.
func (w *workspace) mappings() target {
	var requests [][]byte
	for _, path := range w.sources {
		requests = append(requests, w.request("PUT", path, w.owner.Token, `{"mapping":`+mapping+`}`))
	}
	return w.repeats(requests...)
}
