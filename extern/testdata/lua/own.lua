local words = require("words")

function thread_init()
   con = sysbench.sql.driver():connect()
end

function event()
   con:query(words.query)
end

sysbench.hooks.report_intermediate = sysbench.report_csv
