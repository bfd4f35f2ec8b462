package postgres_test

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// No Redshift can be had here. These tests run against a PostgreSQL that imitates the catalogue, the types and the
// functions that the Amazon Redshift Database Developer Guide describes. PostgreSQL itself refuses what it does not
// describe: users may execute only the documented functions, and read only the documented catalogue. The guide says
// which casts there are; the cast from boolean to text is taken away. Not imitated: how Redshift plans statements, so
// nothing here shows that a statement about the rows of a table runs on its compute nodes.

// redshiftFunctions are the documented functions that Atrium uses, and pg_sleep, which a view of the sample uses.
const redshiftFunctions = `version, current_database, has_table_privilege, has_schema_privilege,
	has_database_privilege, left, rtrim, strpos, md5, quote_ident, set_config, json_serialize, to_hex, st_astext,
	hll_cardinality, current_setting, pg_sleep`

// redshiftCatalogue are the documented relations that Atrium uses.
const redshiftCatalogue = `svv_all_tables, svv_all_columns, svv_tables, svv_columns, pg_user, pg_tables, pg_namespace`

// redshiftImitation makes a PostgreSQL with allow_system_table_mods look like Redshift.
const redshiftImitation = `
CREATE DOMAIN pg_catalog.super AS jsonb;
CREATE DOMAIN pg_catalog.varbyte AS bytea;
CREATE DOMAIN pg_catalog.geometry AS point;
CREATE DOMAIN pg_catalog.geography AS varchar;
CREATE DOMAIN pg_catalog.hllsketch AS integer[];
CREATE FUNCTION pg_catalog.json_serialize(super) RETURNS varchar LANGUAGE plpgsql SECURITY DEFINER AS
'BEGIN RETURN $1::jsonb::varchar; END';
CREATE FUNCTION pg_catalog.to_hex(varbyte) RETURNS varchar LANGUAGE plpgsql SECURITY DEFINER AS
'BEGIN RETURN encode($1::bytea, ''hex''); END';
CREATE FUNCTION pg_catalog.st_astext(geometry, digits integer DEFAULT 15) RETURNS varchar LANGUAGE plpgsql STRICT
SECURITY DEFINER AS 'DECLARE x float := ($1::point)[0]; y float := ($1::point)[1]; BEGIN
	IF digits < 17 THEN -- a cast to numeric rounds to 15 digits
		RETURN format(''POINT(%s %s)'', x::numeric, y::numeric);
	END IF;
	RETURN format(''POINT(%s %s)'', x, y);
END';
CREATE FUNCTION pg_catalog.st_astext(geography, digits integer DEFAULT 15) RETURNS varchar LANGUAGE plpgsql STRICT
SECURITY DEFINER AS 'BEGIN RETURN $1::varchar; END';
CREATE FUNCTION pg_catalog.hll_cardinality(hllsketch) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS
'BEGIN RETURN array_length($1::integer[], 1); END';
CREATE OR REPLACE FUNCTION pg_catalog.version() RETURNS text LANGUAGE sql AS
'SELECT ''PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2 20041017 (Red Hat 3.4.2-6.fc3), ''
|| ''Redshift 1.0.48805''';
ALTER FUNCTION pg_catalog.set_config(text, text, boolean) RENAME TO set_config_of_postgres;
CREATE FUNCTION pg_catalog.set_config(text, text, boolean) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS
'BEGIN
	IF $1 <> ''enable_case_sensitive_identifier'' OR NOT $3 THEN
		RAISE EXCEPTION ''unrecognized configuration parameter'' USING ERRCODE = ''42704'';
	END IF;
	PERFORM set_config_of_postgres(''redshift.keeps_case'', $2, true);
	RETURN $2;
END';
CREATE SCHEMA redshift;
CREATE FUNCTION redshift.relations(seen_by name) RETURNS TABLE (id oid, schema_name name, table_name name, kind "char",
usable boolean) LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS
'SELECT c.oid, n.nspname, c.relname, c.relkind,
	has_schema_privilege(seen_by, n.oid, ''usage'') AND has_any_column_privilege(seen_by, c.oid, ''select'')
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN (''r'', ''v'', ''m'', ''f'') AND n.nspname <> ''redshift''';
CREATE FUNCTION redshift.attributes(seen_by name) RETURNS TABLE (schema_name name, table_name name, column_name name,
ordinal_position integer, is_nullable text, data_type text, longest integer, digits integer, scale integer,
usable boolean) LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS
'SELECT r.schema_name, r.table_name, a.attname, a.attnum, CASE WHEN a.attnotnull THEN ''NO'' ELSE ''YES'' END,
	CASE a.atttypid WHEN 1042 THEN ''character'' ELSE split_part(format_type(a.atttypid, -1), ''.'', -1) END,
	CASE WHEN a.atttypid IN (1042, 1043) AND a.atttypmod > 4 THEN a.atttypmod - 4 END,
	CASE WHEN a.atttypid = 1700 AND a.atttypmod > 4 THEN (a.atttypmod - 4) >> 16 END,
	CASE WHEN a.atttypid = 1700 AND a.atttypmod > 4 THEN (a.atttypmod - 4) & 65535 END,
	r.usable AND has_column_privilege(seen_by, r.id, a.attnum, ''select'')
	FROM redshift.relations(seen_by) r JOIN pg_attribute a ON a.attrelid = r.id AND a.attnum > 0
	AND NOT a.attisdropped';
CREATE VIEW pg_catalog.svv_all_tables AS SELECT 'postgres'::varchar(128) AS database_name,
	schema_name::varchar(128) COLLATE "C" AS schema_name, table_name::varchar(128) COLLATE "C" AS table_name,
	NULL::varchar(128) AS table_acl, (CASE kind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'VIEW' WHEN 'f' THEN
	'EXTERNAL TABLE' ELSE 'TABLE' END)::varchar(128) AS table_type, NULL::varchar(256) AS remarks
	FROM redshift.relations(current_user) WHERE usable;
CREATE VIEW pg_catalog.svv_tables AS SELECT 'postgres'::varchar AS table_catalog,
	schema_name::varchar COLLATE "C" AS table_schema, table_name::varchar COLLATE "C" AS table_name,
	(CASE kind WHEN 'v' THEN 'VIEW' ELSE 'BASE TABLE' END)::varchar AS table_type, NULL::varchar AS remarks
	FROM redshift.relations(current_user);
CREATE VIEW pg_catalog.svv_all_columns AS SELECT 'postgres'::varchar(128) AS database_name,
	schema_name::varchar(128) COLLATE "C" AS schema_name, table_name::varchar(128) COLLATE "C" AS table_name,
	column_name::varchar(128) AS column_name, ordinal_position, NULL::varchar(4000) AS column_default,
	is_nullable::varchar(3) AS is_nullable, data_type::varchar(128) AS data_type,
	longest AS character_maximum_length, digits AS numeric_precision, scale AS numeric_scale,
	NULL::varchar(256) AS remarks FROM redshift.attributes(current_user) WHERE usable AND table_name <> 'late';
CREATE VIEW pg_catalog.svv_columns AS SELECT 'postgres'::varchar AS table_catalog,
	schema_name::varchar COLLATE "C" AS table_schema, table_name::varchar COLLATE "C" AS table_name,
	column_name::varchar AS column_name, ordinal_position, is_nullable::varchar AS is_nullable,
	data_type::varchar AS data_type, longest AS character_maximum_length, digits AS numeric_precision,
	scale AS numeric_scale FROM redshift.attributes(current_user)
`

// redshiftRefusals takes away from users what Redshift does not have.
const redshiftRefusals = `
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_catalog FROM PUBLIC;
REVOKE SELECT ON ALL TABLES IN SCHEMA pg_catalog, information_schema FROM PUBLIC;
GRANT USAGE ON SCHEMA redshift TO PUBLIC;
GRANT SELECT ON ` + redshiftCatalogue + ` TO PUBLIC;
DO $$ DECLARE f regprocedure; BEGIN
	FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND (
		p.proname = ANY (string_to_array(regexp_replace('` + redshiftFunctions + `', '\s', '', 'g'), ','))
		OR p.proname = 'pg_get_userbyid' -- of the view pg_tables
		OR p.oid IN (SELECT oprcode FROM pg_operator)
		OR p.oid IN (SELECT castfunc FROM pg_cast WHERE castsource <> 'boolean'::regtype))
	LOOP
		EXECUTE 'GRANT EXECUTE ON FUNCTION ' || f::text || ' TO PUBLIC';
	END LOOP;
END $$
`

const redshiftSample = `
CREATE ROLE reader LOGIN PASSWORD '%[1]s';
CREATE ROLE writer LOGIN PASSWORD '%[1]s';
CREATE ROLE stranger LOGIN PASSWORD '%[1]s';
CREATE ROLE maker LOGIN PASSWORD '%[1]s';
CREATE DATABASE closed_to_all;
REVOKE ALL ON DATABASE closed_to_all FROM PUBLIC;
CREATE SCHEMA shop;
CREATE SCHEMA "Shop";
CREATE SCHEMA hidden;
CREATE TABLE hidden.safe (id integer);
CREATE TABLE shop.kinds (id bigint PRIMARY KEY, name varchar(1000) NOT NULL, code char(5), price numeric(10,2),
rate double precision, sold boolean, born date, at timestamptz, doc super, raw varbyte, place geometry,
sketch hllsketch);
INSERT INTO shop.kinds VALUES
	(1, 'Ada', 'ab', 12.50, 0.5, true, '1815-12-10', '2026-01-02 03:04:05+00', '{"a": 1}', '\x00ff', '(1,2)', '{4,5}'),
	(2, repeat('é', 300), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(3, E'tab\t"quote"', '', -1, 1e300, false, '2026-02-03', '2026-01-02 03:04:05.6+00', 'null', '', '(0,0)', '{1}');
CREATE TABLE shop.empty (id integer);
CREATE TABLE shop."a ""strange"" name; drop table shop.kinds" ("a ""col"", b" varchar(10));
INSERT INTO shop."a ""strange"" name; drop table shop.kinds" VALUES ('here');
CREATE VIEW "Shop"."Mixed" AS SELECT CAST(id AS integer) AS "Id" FROM shop.kinds WHERE id = 1
AND current_setting('redshift.keeps_case', true) = 'true';
CREATE TABLE shop.secret (id integer);
CREATE TABLE shop.half (open varchar(10), closed varchar(10));
INSERT INTO shop.half VALUES ('o', 'c');
CREATE VIEW shop.late AS SELECT id, name FROM shop.kinds WHERE id = 1
AND coalesce(current_setting('redshift.keeps_case', true), '') = '';
CREATE VIEW shop.divided AS SELECT 1 / (id - id) AS share FROM shop.kinds;
CREATE VIEW shop.slow AS SELECT CAST(pg_sleep(30) AS varchar) AS never;
CREATE FUNCTION shop.leader() RETURNS integer LANGUAGE plpgsql AS
'BEGIN RAISE EXCEPTION ''Specified types or functions not supported on Redshift tables'' USING
ERRCODE = ''0A000''; END';
CREATE VIEW shop.leading AS SELECT shop.leader() AS id;
CREATE FUNCTION shop.scan() RETURNS integer LANGUAGE plpgsql AS
'BEGIN RAISE EXCEPTION ''Spectrum Scan Error'' USING ERRCODE = ''XX000''; END';
CREATE VIEW shop.scanned AS SELECT shop.scan() AS id;
GRANT USAGE ON SCHEMA shop, "Shop" TO reader, writer, stranger, maker;
GRANT SELECT ON shop.kinds, shop.empty, shop."a ""strange"" name; drop table shop.kinds", "Shop"."Mixed", shop.late,
shop.divided, shop.slow, shop.wide, shop.leading, shop.scanned TO reader, writer, maker;
GRANT SELECT (open) ON shop.half TO reader;
GRANT INSERT ON shop.empty TO writer;
GRANT CREATE ON SCHEMA shop TO maker
`

var startRedshift = sync.OnceValues(func() (*server, error) {
	t := fixture.Setup{}
	s := &server{authority: fixture.NewAuthority(t)}
	certificate, key := s.authority.Sign(t, time.Hour, "127.0.0.1")
	var err error
	s.Server, err = services.StartPostgresWith(map[string]string{
		"ssl": "on", "ssl_cert_file": "@/server.crt", "ssl_key_file": "@/server.key", "hba_file": "@/hba",
		"allow_system_table_mods": "on", "password_encryption": "md5", "extra_float_digits": "0",
	}, map[string]string{"server.crt": certificate, "server.key": key, "hba": "host all postgres 127.0.0.1/32 trust\n" +
		"hostnossl all only_tls 127.0.0.1/32 reject\nhost all rejected 127.0.0.1/32 reject\n" +
		"host all all 127.0.0.1/32 md5\n"})
	if err != nil {
		return nil, err
	}
	if s.admin, err = sql.Open("postgres", s.URL); err != nil {
		return nil, err
	}
	s.port = port(s.URL)
	wide := make([]string, warehouses.WideColumns)
	for i := range wide {
		wide[i] = fmt.Sprintf("c%d varchar(300) DEFAULT repeat('%d', 300)", i, i%10)
	}
	sample := strings.Replace(fmt.Sprintf(redshiftSample, warehouses.Canary), "CREATE VIEW shop.late",
		"CREATE TABLE shop.wide ("+strings.Join(wide, ", ")+");\nINSERT INTO shop.wide DEFAULT VALUES;\nCREATE VIEW "+
			"shop.late", 1)
	for _, part := range []string{redshiftImitation, sample, redshiftRefusals} {
		if _, err := s.admin.Exec(part); err != nil && !strings.Contains(err.Error(), "transaction block") {
			return nil, err
		} else if err == nil {
			continue
		}
		for _, statement := range strings.Split(part, ";\n") { // CREATE DATABASE is a statement of its own
			if _, err := s.admin.Exec(statement); err != nil {
				return nil, fmt.Errorf("%.60s: %w", statement, err)
			}
		}
	}
	return s, nil
})

func sharedRedshift(t *testing.T) *server {
	t.Helper()
	s, err := startRedshift()
	if err != nil {
		t.Fatalf("this test needs PostgreSQL 15 or newer: %v", err)
	}
	return s
}

func TestTheImitationOfRedshiftRefusesWhatRedshiftLacks(t *testing.T) {
	s := sharedRedshift(t)
	c, err := s.admin.Conn(t.Context())
	require.NoError(t, err)
	defer c.Close()
	defer c.ExecContext(t.Context(), `RESET ROLE`) // because another test may get this connection
	if _, err := c.ExecContext(t.Context(), `SET ROLE reader`); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`SELECT format_type(23, -1)`, `SELECT has_column_privilege('shop.kinds', 'id', 'select')`,
		`SELECT relname FROM pg_class`, `SELECT sold::varchar FROM shop.kinds`,
		`SELECT attname FROM pg_attribute`, `SELECT * FROM information_schema.tables`, `SELECT now()`,
		`SELECT set_config('search_path', 'shop', true)`,
	} {
		if _, err := c.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("it accepts %s", statement)
		}
	}
}
