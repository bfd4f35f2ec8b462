package clickhouse

// ToJSON is toJSON.
var ToJSON = toJSON
