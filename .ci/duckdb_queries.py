#!/usr/bin/env python3
"""Runs the queries of docs/program.md in DuckDB, over exports as CSV and as JSON Lines.

Usage: .ci/duckdb_queries.py DIRECTORY..., each with calls.csv and calls.jsonl of the same calls. A query has the same rows
for both, and some rows in one of the directories.
"""

import re
import sys

import duckdb


def rows(query, directory, name):
    duckdb.sql(query.replace("calls.csv", f"{directory}/{name}")).write_csv(f"{directory}/rows.csv")
    with open(f"{directory}/rows.csv", encoding="utf-8") as lines:
        return sorted(lines.readlines()[1:])


def main(directories):
    with open("docs/program.md", encoding="utf-8") as page:
        queries = re.search(r"```sql\n(.*?)```", page.read(), re.S).group(1).split(";")
    for query in filter(str.strip, queries):
        found = 0
        for directory in directories:
            of_csv, of_json = (rows(query, directory, name) for name in ("calls.csv", "calls.jsonl"))
            if of_csv != of_json:
                sys.exit(f"CSV and JSON Lines answer differently in {directory}: {query}")
            found += len(of_csv)
        if not found:
            sys.exit(f"no rows: {query}")
        print(f"{found} rows: {query.strip().splitlines()[0]}")


if __name__ == "__main__":
    main(sys.argv[1:])
