// node duckdb.mjs PACKAGES < SQL: asks DuckDB, statements separated by lines with nothing but `;`,
// and prints each row of each answer as a line of JSON. Nothing is downloaded.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(process.argv[2] + '/package.json');
const { DuckDBInstance } = require('@duckdb/node-api');
const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false', threads: '1' });
const connection = await instance.connect();
try {
    for (const sql of readFileSync(0, 'utf8').split(/^;$/m)) {
        if (sql.trim() === '')
            continue;
        const answer = await connection.runAndReadAll(sql);
        for (const row of answer.getRowsJson())
            console.log(JSON.stringify(row));
    }
} catch (error) {
    console.error('duckdb:', error.message);
    process.exitCode = 1;
}
connection.closeSync();
