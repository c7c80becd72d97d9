// Runs dynalite in memory on a free port of the loopback interface. Prints its URL, and ends when its input closes.

const dynalite = require('dynalite')

const server = dynalite({ createTableMs: 0, deleteTableMs: 0 })
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
process.stdin.on('end', () => process.exit()).resume()
