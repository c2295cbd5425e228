CREATE TABLE pi1 (
  transactionid BIGINT NOT NULL AUTO_INCREMENT,
  dateandtime DATETIME NOT NULL,
  cashregisterid INT NOT NULL,
  customerid INT NOT NULL,
  productid INT NOT NULL,
  price INT NOT NULL,
  data VARCHAR(40) NOT NULL,
  PRIMARY KEY (transactionid)
) ENGINE=InnoDB
INSERT INTO pi1 (cashregisterid,customerid,data,dateandtime,price,productid,transactionid) VALUES (958,51513,'ypboffwalpcovras','2024-01-01 00:00:01',331,1267,1),(685,52551,'ofpvuigcmhs','2024-01-01 00:00:02',177,5159,2)
ANALYZE TABLE pi1

-- index-1, write, read true, counts transaction
-- 1 operations
-- before: SELECT COUNT(*) FROM pi1 WHERE data = ''
ALTER TABLE pi1 ADD INDEX price (price)
-- after: ALTER TABLE pi1 DROP INDEX price

-- index-3, write, read true, counts transaction
-- 1 operations
-- before: SELECT COUNT(*) FROM pi1 WHERE data = ''
ALTER TABLE pi1
  ADD INDEX marketsegment (productid, customerid, price),
  ADD INDEX registersegment (cashregisterid, customerid, price),
  ADD INDEX pdc (price, dateandtime, customerid)
-- after: ALTER TABLE pi1 DROP INDEX marketsegment, DROP INDEX registersegment, DROP INDEX pdc

-- index-3-apart, write, read true, counts transaction
-- 1 operations
-- before: SELECT COUNT(*) FROM pi1 WHERE data = ''
ALTER TABLE pi1 ADD INDEX marketsegment (productid, customerid, price)
ALTER TABLE pi1 ADD INDEX registersegment (cashregisterid, customerid, price)
ALTER TABLE pi1 ADD INDEX pdc (price, dateandtime, customerid)
-- after: ALTER TABLE pi1 DROP INDEX marketsegment, DROP INDEX registersegment, DROP INDEX pdc

-- index-3-copy, write, read true, counts transaction
-- 1 operations
-- before: DROP TABLE IF EXISTS copy1
-- before: CREATE TABLE copy1 LIKE pi1
-- before: INSERT INTO copy1 SELECT * FROM pi1
ALTER TABLE copy0
  ADD INDEX marketsegment (productid, customerid, price),
  ADD INDEX registersegment (cashregisterid, customerid, price),
  ADD INDEX pdc (price, dateandtime, customerid)
-- after: DROP TABLE copy1

-- drop-index, write, read true, counts transaction
-- 1 operations
-- before: ALTER TABLE pi1
  ADD INDEX marketsegment (productid, customerid, price),
  ADD INDEX registersegment (cashregisterid, customerid, price),
  ADD INDEX pdc (price, dateandtime, customerid)
ALTER TABLE pi1 DROP INDEX marketsegment, DROP INDEX registersegment, DROP INDEX pdc

-- add-column, write, read true, counts transaction
-- 1 operations
-- before: SELECT COUNT(*) FROM pi1 WHERE data = ''
ALTER TABLE pi1 ADD COLUMN extra INT NOT NULL DEFAULT 7
-- after: ALTER TABLE pi1 DROP COLUMN extra

-- add-column-copy, write, read true, counts transaction
-- 1 operations
-- before: SELECT COUNT(*) FROM pi1 WHERE data = ''
ALTER TABLE pi1 ADD COLUMN extra INT NOT NULL DEFAULT 7, ALGORITHM=COPY
-- after: ALTER TABLE pi1 DROP COLUMN extra

-- rebuild, write, read true, counts transaction
-- 1 operations
-- before: SELECT COUNT(*) FROM pi1 WHERE data = ''
ALTER TABLE pi1 FORCE

-- create-drop, write, read true, counts transaction
-- 20 operations
CREATE TABLE small0 (id INT NOT NULL, k INT NOT NULL, pad CHAR(60) NOT NULL, PRIMARY KEY (id), KEY k (k)) ENGINE=InnoDB
DROP TABLE small0

-- create-drop-plain, write, read true, counts transaction
-- 20 operations
CREATE TABLE small0 (id INT NOT NULL PRIMARY KEY, pad CHAR(60) NOT NULL) ENGINE=InnoDB
DROP TABLE small0

-- truncate, write, read true, counts transaction
-- 20 operations
-- before: DROP TABLE IF EXISTS small1
-- before: CREATE TABLE small1 (id INT NOT NULL, k INT NOT NULL, pad CHAR(60) NOT NULL, PRIMARY KEY (id), KEY k (k)) ENGINE=InnoDB
TRUNCATE TABLE small0
-- after: DROP TABLE small1

-- count, aggregate, read true, counts transaction
-- 2 operations
SELECT COUNT(*) FROM pi1 FORCE INDEX (`PRIMARY`)

-- check-table, aggregate, read true, counts transaction
-- 1 operations
CHECK TABLE pi1
