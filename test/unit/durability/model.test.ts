import { modelSuite } from "../../support/model/suite.js";

modelSuite(3);
