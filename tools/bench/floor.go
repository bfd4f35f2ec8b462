package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// floorArgument makes this program the floor: with an address to listen on, and a database's URL.
const floorArgument = "floor"

// floorQuery reads the active version of a template for the holder of an API key in one statement. An answer needs at
// least this.
const floorQuery = `
	SELECT v.id, v.template_id, v.number, v.text, v.format, v.variables, v.model_config, v.content_hash,
	v.commit_message,
		v.first_activated_at, v.revision, v.created_by, v.created_at, v.updated_at,
		COALESCE((SELECT string_agg(l.label, ',') FROM prompt_labels l WHERE l.version_id = v.id), '')
	FROM api_keys k
	JOIN memberships m ON m.workspace_id = k.workspace_id AND m.user_id = k.user_id
	JOIN prompt_templates t ON t.workspace_id = k.workspace_id AND t.deleted_at = 0 AND (t.owner_id = k.user_id
	OR t.visibility = 'workspace')
	JOIN prompt_versions v ON v.id = t.active_version_id
	WHERE k.hash = ? AND k.revoked_at = 0 AND t.id = ?`

// floorVersion is the JSON of a version; it stands here once more so that a slower encoding of
// Atrium's own types would show.
type floorVersion struct {
	CommitMessage    string           `json:"commit_message"`
	ContentHash      string           `json:"content_hash"`
	CreatedAt        string           `json:"created_at"`
	CreatedBy        string           `json:"created_by"`
	FirstActivatedAt string           `json:"first_activated_at"`
	Format           string           `json:"format"`
	ID               string           `json:"id"`
	IsActive         bool             `json:"is_active"`
	Labels           []string         `json:"labels"`
	Model            floorModel       `json:"model_config"`
	Number           int              `json:"number"`
	Template         string           `json:"prompt_template_id"`
	ResponseFormat   *json.RawMessage `json:"response_format"`
	Revision         int64            `json:"revision"`
	State            string           `json:"state"`
	Text             string           `json:"text"`
	Tools            []string         `json:"tools"`
	UpdatedAt        string           `json:"updated_at"`
	Variables        []floorVariable  `json:"variables"`
}

type floorModel struct {
	MaxTokens   int     `json:"max_tokens"`
	ModelName   string  `json:"model_name"`
	Provider    string  `json:"provider"`
	Temperature float64 `json:"temperature"`
}

type floorVariable struct {
	Description string `json:"description,omitempty"`
	Name        string `json:"name"`
	Required    bool   `json:"required"`
	Type        string `json:"type"`
}

// serveFloor serves the floor until ctx ends: net/http, database/sql, one prepared statement, and
// nothing else. It does what Atrium does to answer, and none of what Atrium does to be operated.
func serveFloor(ctx context.Context, addr, databaseURL string) error {
	driver, _, _ := strings.Cut(databaseURL, ":")
	db, err := database{engine: engine{driver: driver}, url: databaseURL}.open("&_pragma=query_only(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	connections := 20
	if driver == "sqlite" {
		connections = max(4, runtime.GOMAXPROCS(0))
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	stmt, err := db.PrepareContext(ctx, db.Rebind(floorQuery))
	if err != nil {
		return err
	}
	defer stmt.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("GET /metrics", promhttp.Handler())
	mux.HandleFunc("GET /api/prompt-templates/{id}/versions/active", func(w http.ResponseWriter, r *http.Request) {
		hash := sha256.Sum256([]byte(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
		v, err := readFloor(stmt.QueryRowContext(r.Context(), hash[:], r.PathValue("id")))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			http.NotFound(w, r)
			return
		case err != nil:
			http.Error(w, "internal", http.StatusInternalServerError)
			return
		}
		body, err := json.Marshal(v)
		if err != nil {
			http.Error(w, "internal", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
		_, _ = w.Write(append(body, '\n')) // a client that is gone hears nothing
	})
	return serveUntil(ctx, addr, mux)
}

// serveUntil serves until ctx ends.
func serveUntil(ctx context.Context, addr string, h http.Handler) error {
	server := &http.Server{Addr: addr, Handler: h, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// readFloor maps a row to the same JSON as Atrium's response, because the floor must not do less work.
func readFloor(row *sql.Row) (v floorVersion, err error) {
	var variables, model, labels string
	var activated, created, updated int64
	if err := row.Scan(&v.ID, &v.Template, &v.Number, &v.Text, &v.Format, &variables, &model, &v.ContentHash,
		&v.CommitMessage, &activated, &v.Revision, &v.CreatedBy, &created, &updated, &labels); err != nil {
		return v, err
	}
	const layout = "2006-01-02T15:04:05.000Z07:00"
	v.FirstActivatedAt = time.UnixMicro(activated).UTC().Format(layout)
	v.CreatedAt = time.UnixMicro(created).UTC().Format(layout)
	v.UpdatedAt = time.UnixMicro(updated).UTC().Format(layout)
	v.IsActive, v.State, v.Tools, v.Labels = true, "frozen", []string{}, strings.Split(labels, ",")
	if err := json.Unmarshal([]byte(variables), &v.Variables); err != nil {
		return v, err
	}
	return v, json.Unmarshal([]byte(model), &v.Model)
}
