CREATE TABLE incident (
  sys_id CHAR(32) NOT NULL,
  category VARCHAR(40),
  PRIMARY KEY (sys_id) USING BTREE,
  KEY incident_category (category) USING BTREE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8
INSERT INTO incident (category,sys_id) VALUES ('category d6938e4c5c68df6b','cd73fe3de975ac2646b73e79f0c37c00'),('category cfb6a9fc46b973cf','7b476c5a5333d0ecee2751b92135351c')
ANALYZE TABLE incident
CREATE TABLE task (
  sys_id CHAR(32) NOT NULL,
  u_root_cause CHAR(32),
  PRIMARY KEY (sys_id) USING BTREE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8
ALTER TABLE task ADD u_text1 MEDIUMTEXT, ADD u_text2 MEDIUMTEXT
INSERT INTO task (sys_id) VALUES ('29d4a6e5f0ec6ac28b569e81dcf6973c'),('3740a326a41745487a1da6f439013205')
ANALYZE TABLE task

-- join-inner, aggregate, read true, counts transaction
SELECT COUNT(*), category FROM incident INNER JOIN task ON task.sys_id = incident.sys_id GROUP BY incident.category

-- join-inner-task-first, aggregate, read true, counts transaction
SELECT COUNT(*), category FROM task INNER JOIN incident ON task.sys_id = incident.sys_id GROUP BY incident.category

-- join-straight, aggregate, read true, counts transaction
SELECT COUNT(*), category FROM incident STRAIGHT_JOIN task ON task.sys_id = incident.sys_id GROUP BY incident.category

-- join-straight-task-first, aggregate, read true, counts transaction
SELECT COUNT(*), category FROM task STRAIGHT_JOIN incident ON task.sys_id = incident.sys_id GROUP BY incident.category
